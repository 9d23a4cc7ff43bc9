package acore

import (
	"context"
	"fmt"

	"github.com/vonago/vonago/onion"
)

// SecuritiesOptions are the options of a-security:securities, named as in Vona.
type SecuritiesOptions struct {
	// Nosniff sends X-Content-Type-Options: nosniff.
	Nosniff Switch `json:"nosniff"`
	// XFrame sends X-Frame-Options.
	XFrame XFrame `json:"xframe"`
	// ReferrerPolicy sends Referrer-Policy.
	ReferrerPolicy ReferrerPolicy `json:"referrerPolicy"`
	// HSTS sends Strict-Transport-Security, over TLS only.
	HSTS HSTS `json:"hsts"`
}

// Switch turns a header on or off.
type Switch struct {
	Enable onion.Toggle `json:"enable"`
}

// XFrame says who may frame a page.
type XFrame struct {
	Enable onion.Toggle `json:"enable"`
	Value  string       `json:"value"  oneof:"SAMEORIGIN|DENY"`
}

// ReferrerPolicy says what a browser tells other sites about the page it comes
// from. The default keeps path and query, which may hold a token (contract P2),
// from other origins; Vona's default, no-referrer-when-downgrade, does not.
type ReferrerPolicy struct {
	Enable onion.Toggle `json:"enable"`
	Value  string       `json:"value"  oneof:"no-referrer|no-referrer-when-downgrade|origin|origin-when-cross-origin|same-origin|strict-origin|strict-origin-when-cross-origin|unsafe-url"` //nolint:lll // the words of the standard
}

// HSTS tells browsers to use TLS from now on.
type HSTS struct {
	Enable onion.Toggle `json:"enable"`
	// MaxAge is in seconds; 0 tells browsers to forget.
	MaxAge *int64 `json:"maxAge" range:"0..315360000"`
	// IncludeSubdomains extends it to all subdomains, instances' ones too.
	IncludeSubdomains onion.Toggle `json:"includeSubdomains"`
}

// securities sends the headers that make browsers careful. It runs inside cors,
// so that preflights go without them, and outside routing, so that errors and
// files carry them (contract C3).
var securities = onion.SystemMiddleware("a-security:securities", securitiesDefaults, buildSecurities,
	onion.Inbound(), onion.After("a-security:cors"))

const secondsPerYear = 365 * 24 * 3600

func securitiesDefaults() SecuritiesOptions {
	maxAge := int64(secondsPerYear)
	return SecuritiesOptions{
		Nosniff:        Switch{Enable: onion.On},
		XFrame:         XFrame{Enable: onion.On, Value: "SAMEORIGIN"},
		ReferrerPolicy: ReferrerPolicy{Enable: onion.On, Value: "strict-origin-when-cross-origin"},
		HSTS:           HSTS{Enable: onion.On, MaxAge: &maxAge, IncludeSubdomains: onion.Off},
	}
}

func buildSecurities(o SecuritiesOptions, _ onion.Env) (onion.Wrap, error) {
	// The keys are canonical and the lists of values shared by all responses.
	var always []fixedField
	if o.Nosniff.Enable.True() {
		always = append(always, fixedField{headerNosniff, []string{"nosniff"}})
	}
	if o.XFrame.Enable.True() {
		always = append(always, fixedField{"X-Frame-Options", []string{o.XFrame.Value}})
	}
	if o.ReferrerPolicy.Enable.True() {
		always = append(always, fixedField{"Referrer-Policy", []string{o.ReferrerPolicy.Value}})
	}
	hsts, err := o.HSTS.header()
	if err != nil {
		return nil, err
	}
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			header := responseHeader(c)
			for i := range always {
				header[always[i].key] = always[i].values
			}
			if hsts != "" && c.Secure {
				header.Set("Strict-Transport-Security", hsts)
			}
			return next(ctx, c)
		}
	}, nil
}

// fixedField is a header field that every response carries.
type fixedField struct {
	key    string
	values []string
}

func (h HSTS) header() (string, error) {
	if !h.Enable.True() {
		return "", nil
	}
	if h.MaxAge == nil {
		return "", &onion.OptionError{Path: []string{"hsts", "maxAge"}, Message: "want a number of seconds while hsts is enabled"}
	}
	text := fmt.Sprintf("max-age=%d", *h.MaxAge)
	if h.IncludeSubdomains.True() {
		text += "; includeSubDomains"
	}
	return text, nil
}
