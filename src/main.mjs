#!/usr/bin/env node
/**
 * `hermes`: sets the runtime up, then hands over to `cli/`. Plain JavaScript, so that a Node that is too old can still
 * say so, and so that the compile cache is on before the first TypeScript file is read.
 */
import { enableCompileCache, registerHooks } from 'node:module'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { runtimeSetup } from './config/runtime-setup.mjs'
import { bundledPackageUrls, compileCacheDirectory } from './packages/bundled-packages.mjs'
import { missingPackageAdvice } from './packages/missing-package.mjs'
import { createResolver } from './packages/resolver.mjs'

const setup = runtimeSetup(process, fileURLToPath(compileCacheDirectory))
if (setup.problem !== undefined) {
  process.stderr.write(`${setup.problem}\n`)
  process.exit(1)
}
if (setup.restartWith !== undefined) process.execve?.(process.execPath, setup.restartWith, setup.environment)
if (setup.compileCache !== undefined) enableCompileCache(setup.compileCache)

registerHooks({ resolve: createResolver({ source: new URL('./', import.meta.url), packed: bundledPackageUrls() }) })

try {
  const { main } = await import('./cli/main.ts')
  await main(process)
} catch (error) {
  const advice = missingPackageAdvice(error)
  if (advice === undefined) throw error
  process.stderr.write(`hermes: ${advice}\n`)
  process.exit(1)
}
