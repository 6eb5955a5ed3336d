/**
 * Branded strings: two kinds of id cannot be swapped by accident.
 */
declare const kind: unique symbol

export type Brand<Kind extends string> = string & { readonly [kind]: Kind }

/** Gives a string its kind. The one place where a plain string becomes a branded one. */
export function brand<Branded extends Brand<string>>(value: string): Branded {
  return value as Branded
}
