/**
 * Loads platforms that register themselves like plugins (seed 004): `register(ctx)` calls `ctx.registerPlatform`.
 */
import { basename, dirname } from 'node:path'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { PlatformModule } from './adapter.ts'

interface SelfRegisteringPlatform {
  readonly name: string
  readonly adapterFile: string
}

/**
 * Returns the platform that the module's `register` function registers; undefined without such a function or platform.
 * Throws `platform/invalid` when the function fails.
 */
export async function loadSelfRegistered(
  exports: unknown,
  { name, adapterFile }: SelfRegisteringPlatform,
  log: Logger,
): Promise<PlatformModule | undefined> {
  const register = findRegister(exports, basename(adapterFile).startsWith('index.'))
  if (register === undefined) return undefined
  let registered: PlatformModule | undefined
  const context = createRegistrationContext({
    pluginId: basename(dirname(adapterFile)),
    directory: dirname(adapterFile),
    log,
    registerPlatform(platform: PlatformModule) {
      registered = platform
      return { name, remove: () => false }
    },
  })
  try {
    await register(context)
  } catch (error) {
    throw new HermesError('platform/invalid', `${adapterFile}: register failed: ${messageOf(error)}`, { cause: error })
  }
  return registered
}

type RegisterFunction = (context: object) => unknown

/** A default export counts only in `index.*`, the entry file of a plugin. */
function findRegister(exports: unknown, isEntry: boolean): RegisterFunction | undefined {
  if (typeof exports !== 'object' || exports === null) return undefined
  if ('register' in exports && isRegisterFunction(exports.register)) return exports.register
  return isEntry && 'default' in exports && isRegisterFunction(exports.default) ? exports.default : undefined
}

function isRegisterFunction(value: unknown): value is RegisterFunction {
  return typeof value === 'function'
}

/** Offers `registerPlatform` only. A directory of kind `platform` cannot register anything else. */
function createRegistrationContext(known: object): object {
  return new Proxy(known, {
    get(target, key) {
      if (Reflect.has(target, key)) return Reflect.get(target, key)
      if (typeof key === 'symbol') return undefined
      throw new Error(`a plugin of kind platform has no ctx.${key}; use a separate plugin for it`)
    },
  })
}
