/**
 * Advice for an incomplete installation. Plain JavaScript without packages, because a package is missing.
 */
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const repair = /[\\/]node_modules[\\/]/.test(root)
  ? 'Install hermes-gateway again, with its optional packages.'
  : 'Run npm ci there.'

/**
 * What to do about an error of an import or a read of a package. `undefined` for other errors.
 * @param {unknown} error
 */
export function missingPackageAdvice(error) {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const isMissingPackage =
    error.code === 'ERR_MODULE_NOT_FOUND' && /Cannot find (?:package|module '[^']*node_modules)/.test(error.message)
  const isMissingFile = error.code === 'ENOENT' && error.message.includes('node_modules')
  if (!isMissingPackage && !isMissingFile) return undefined
  return `The installation in ${root} is incomplete: ${error.message.split('\n', 1)[0]}. ${repair}`
}
