/**
 * Platforms that register themselves, as plugins do (seed 004): `register(ctx)` calls `ctx.registerPlatform`.
 */
import { basename, dirname } from 'node:path'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { PlatformModule } from './adapter.ts'

interface Registering {
  readonly name: string
  readonly adapterFile: string
}

/**
 * What `register` of a module registers; undefined where it has none, or registers nothing. Throws `platform/invalid`
 * when it fails.
 */
export async function registeredBy(
  exports: unknown,
  { name, adapterFile }: Registering,
  log: Logger,
): Promise<PlatformModule | undefined> {
  const register = registerIn(exports, basename(adapterFile).startsWith('index.'))
  if (register === undefined) return undefined
  let registered: PlatformModule | undefined
  const context = contextOf({
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

type Register = (context: object) => unknown

/** Only of the entry of a plugin a default export counts, as it does elsewhere. */
function registerIn(exports: unknown, isEntry: boolean): Register | undefined {
  if (typeof exports !== 'object' || exports === null) return undefined
  if ('register' in exports && isRegister(exports.register)) return exports.register
  return isEntry && 'default' in exports && isRegister(exports.default) ? exports.default : undefined
}

function isRegister(value: unknown): value is Register {
  return typeof value === 'function'
}

/** A platform is all that such a folder can be; whatever else it wants to register belongs into a plugin. */
function contextOf(known: object): object {
  return new Proxy(known, {
    get(target, key) {
      if (Reflect.has(target, key)) return Reflect.get(target, key)
      if (typeof key === 'symbol') return undefined
      throw new Error(`a plugin of kind platform has no ctx.${key}; put it into a plugin of its own`)
    },
  })
}
