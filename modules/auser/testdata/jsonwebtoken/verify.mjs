// Reads {secret, issuer, token, now} from standard input, verifies the token with the npm package jsonwebtoken at that
// time, and writes {claims, signed}: what the token says, and the same payload signed by jsonwebtoken. Anything wrong ends
// it with a code other than 0.
import { readFileSync } from 'node:fs';
import jwt from 'jsonwebtoken';

const { secret, issuer, token, now } = JSON.parse(readFileSync(0, 'utf8'));
const claims = jwt.verify(token, secret, { algorithms: ['HS256'], issuer, clockTimestamp: now });

for (const [name, forged] of [
  ['another secret', () => jwt.verify(token, secret + 'x', { algorithms: ['HS256'] })],
  ['a changed payload', () => jwt.verify(token.replace(/\.(.)/, (_, c) => '.' + (c === 'e' ? 'f' : 'e')), secret)],
]) {
  let accepted = true;
  try { forged(); } catch { accepted = false; }
  if (accepted) throw new Error(`jsonwebtoken accepts ${name}: this proves nothing`);
}

const { client, data, path, iat } = claims;
const signed = jwt.sign({ client, data, path, iat }, secret, { algorithm: 'HS256', issuer, expiresIn: claims.exp - iat });
process.stdout.write(JSON.stringify({ claims, signed }));
