/**
 * The environment of gateways that tests start as processes. It is the same on each machine, but for where the programs are.
 */
import process from 'node:process'
import { compileCacheDirectory } from './compile-cache.ts'

export function childEnvironment(home: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: home,
    TZ: 'UTC',
    LANG: 'C.UTF-8',
    // The first process fills the cache for all others.
    NODE_COMPILE_CACHE: compileCacheDirectory(),
  }
}
