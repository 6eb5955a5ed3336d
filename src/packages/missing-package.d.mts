/** What to do about an error of an import or a read of a package. `undefined` for other errors. */
export function missingPackageAdvice(error: unknown): string | undefined
