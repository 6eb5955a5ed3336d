/**
 * What the page uses of the package `uqr`, whose module is served as it is.
 */
export function encode(text: string, options?: { border?: number }): { data: boolean[][]; size: number }
