/** @param outdir is emptied */
export function bundlePackages(outdir: string): Promise<void>
