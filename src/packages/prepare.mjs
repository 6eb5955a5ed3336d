/**
 * Prepares an installation (`npm ci`): bundles the packages and fills the compile cache. The sources are not bundled. Nothing here
 * fails an installation: without the results the gateway only starts more slowly.
 */
import { spawnSync } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundleDirectory, compileCacheDirectory } from './bundled-packages.mjs'

const outdir = fileURLToPath(bundleDirectory)

/** It takes about two seconds. */
const fillTimeoutMs = 15_000

/** Starts the daemon once in a temporary home. A directory that this leaves empty is filled by the first start. */
async function fillCompileCache() {
  // Compiled code runs instead of the sources, so only its owner may write it.
  await mkdir(compileCacheDirectory, { recursive: true, mode: 0o700 })
  const script = fileURLToPath(new URL('warm-compile-cache.mjs', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [script, fileURLToPath(compileCacheDirectory)], {
    encoding: 'utf8',
    timeout: fillTimeoutMs,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (status !== 0) throw new Error(stderr.trim().split('\n').at(-1) || 'it took too long')
}

/**
 * @param {string} consequence
 * @param {unknown} error
 */
function warn(consequence, error) {
  process.stderr.write(`hermes-gateway: ${consequence} ${error instanceof Error ? error.message : ''}\n`)
}

try {
  const { bundlePackages } = await import('./bundle-packages.mjs')
  await bundlePackages(outdir)
} catch (error) {
  await rm(outdir, { recursive: true, force: true })
  // Code that runs: no other user may write it, whatever the umask is.
  await mkdir(outdir, { recursive: true, mode: 0o755 })
  warn('Packages could not be bundled; the gateway will start more slowly.', error)
}
try {
  await fillCompileCache()
} catch (error) {
  warn('The compile cache could not be filled; the first start will be slower.', error)
}
