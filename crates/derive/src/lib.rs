//! `#[derive(Record)]`, documented in
//! [`turntile::layout`](https://docs.rs/turntile/latest/turntile/layout).
//!
//! The derive writes `unsafe` implementations. It also writes compile-time assertions of the
//! properties that they rely on: a struct without these properties does not compile.
#![allow(unsafe_code)]

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Path, parse_macro_input};

/// Implements `Record` for a `#[repr(C)]` struct of plain data without padding. Each field becomes
/// a column: field `rho` of `Cell` is `Cell::RHO`.
///
/// Also implements `Pod` and `Zeroable` of bytemuck. If the struct derives them already, disable
/// that with `#[record(pod)]`.
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn record(input: &DeriveInput) -> Result<TokenStream, Error> {
    let name = &input.ident;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(name.span(), "`Record` can only be derived for structs"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(name.span(), "`Record` needs named fields, which name the columns"));
    };
    if fields.named.is_empty() {
        return Err(Error::new(name.span(), "`Record` needs at least one field"));
    }
    if !input.generics.params.is_empty() {
        let message =
            "`Record` cannot be derived for generic structs: padding is checked only once";
        return Err(Error::new(input.generics.span(), message));
    }
    check_repr(input)?;
    let is_pod = has_pod(&input.attrs)?;

    let (mut columns, mut layout_fields, mut checks) = (Vec::new(), Vec::new(), Vec::new());
    // End of the previous field, and its name in messages.
    let (mut end, mut before) = (quote!(0usize), format!("the start of `{name}`"));
    for (index, field) in fields.named.iter().enumerate() {
        let (vis, ty) = (&field.vis, &field.ty);
        let ident = field.ident.as_ref().expect("a named field has an identifier");
        let field_name = ident.unraw().to_string();
        let column = format_ident!("{}", field_name.to_uppercase(), span = ident.span());
        let doc = format!("Column of field `{field_name}`.");
        columns.push(quote_spanned! {ty.span()=>
            #[doc = #doc]
            #[allow(dead_code)]
            #vis const #column: ::turntile::layout::Column<#name, #ty> = ::turntile::layout::Column::of_field(#index);
        });
        let offset = quote!(::core::mem::offset_of!(#name, #ident));
        layout_fields.push(quote!(::turntile::layout::Field::new::<#ty>(#offset)));
        let padding =
            format!("padding between {before} and `{field_name}`: declare it as a field of bytes");
        let packed = format!(
            "field `{field_name}` is unaligned in `{name}`: packed structs are not supported"
        );
        let no_bytes = format!("field `{field_name}` has size 0: remove it");
        checks.push(quote_spanned! {ty.span()=>
            assert!(::core::mem::size_of::<#ty>() > 0, #no_bytes);
            assert!(::core::mem::align_of::<#ty>() <= ::core::mem::align_of::<#name>(), #packed);
            assert!(#offset == #end, #padding);
        });
        end = quote!(#offset + ::core::mem::size_of::<#ty>());
        before = format!("`{field_name}`");
    }
    let padding = format!("padding after {before}: declare it as a field of bytes");
    let pod = (!is_pod).then(|| {
        quote! {
            // SAFETY: the struct is not generic. Every field is `Pod`, as `Column` requires. The
            // fields cover the struct from its first byte to its last, as asserted below.
            unsafe impl ::turntile::layout::bytemuck::Zeroable for #name {}
            unsafe impl ::turntile::layout::bytemuck::Pod for #name {}
        }
    });
    Ok(quote! {
        impl #name {
            #(#columns)*
        }
        #pod
        impl ::turntile::layout::Record for #name {
            const FIELDS: &'static [::turntile::layout::Field] =
                &::turntile::layout::Field::in_columns([#(#layout_fields),*]);
        }
        const _: () = {
            #(#checks)*
            assert!(#end == ::core::mem::size_of::<#name>(), #padding);
        };
    })
}

/// Checks that the representation keeps the declaration order of the fields and aligns them.
fn check_repr(input: &DeriveInput) -> Result<(), Error> {
    let mut in_order = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("packed") {
                return Err(meta
                    .error("packed structs are not supported: their columns would be unaligned"));
            }
            in_order |= is_any(&meta.path, &["C", "transparent"]);
            // Skips the number of align(N), which the compiler checks.
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    let message = "`Record` needs #[repr(C)], which keeps the fields in declaration order";
    if in_order { Ok(()) } else { Err(Error::new(input.ident.span(), message)) }
}

fn is_any(path: &Path, names: &[&str]) -> bool {
    names.iter().any(|name| path.is_ident(name))
}

/// Returns `true` if `#[record(pod)]` states that the struct implements `Pod` already.
fn has_pod(attributes: &[Attribute]) -> Result<bool, Error> {
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
        attribute.parse_nested_meta(|meta| {
            found = true;
            if meta.path.is_ident("pod") {
                Ok(())
            } else {
                Err(meta.error("unknown option: `record` supports only `pod`"))
            }
        })?;
    }
    Ok(found)
}
