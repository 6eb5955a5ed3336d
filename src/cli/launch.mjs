/**
 * Sets the runtime up before the first TypeScript file is loaded: the V8 flags, the compile cache and the resolver.
 */
import { fileURLToPath } from 'node:url'
import { enablePrivateCache, runtimeSetup } from '../config/runtime-setup.mjs'
import { compileCacheDirectory } from '../packages/bundled-packages.mjs'
import { missingPackageAdvice } from '../packages/missing-package.mjs'
import { registerResolver } from '../packages/register-resolver.mjs'

/** @param {NodeJS.Process} process */
export async function launch(process) {
  const setup = runtimeSetup(process, fileURLToPath(compileCacheDirectory))
  if (setup.restartWith !== undefined) process.execve?.(process.execPath, setup.restartWith, setup.environment)
  // Without a listener Node opens its debugger for this signal, on a port where every user of the machine can run code in this
  // process. The flag --disable-sigusr1 would block the signal, so that no later listener would receive it.
  process.on('SIGUSR1', () => undefined)
  enablePrivateCache(setup.compileCache)

  registerResolver()

  try {
    const { main } = await import('./main.ts')
    await main(process)
  } catch (error) {
    const advice = missingPackageAdvice(error)
    if (advice === undefined) throw error
    process.stderr.write(`hermes: ${advice}\n`)
    process.exit(1)
  }
}
