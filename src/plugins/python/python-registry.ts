/**
 * Tracks the registrations of one plugin in Python by their keys. A restarted process repeats them, which has no effect;
 * differences are reported as warnings.
 */
import type { HostRequestHandler } from '../../hosts/contract.ts'
import { HermesError, isHermesError } from '../../lib/errors.ts'
import type { Registration } from '../../middleware/contract.ts'
import type { PluginContext } from '../contract.ts'
import type { DiscoveredPlugin } from '../discovery.ts'
import type { NamedRegistrar, PythonPluginsDeps, PythonProcess } from './contract.ts'
import { registerMemoryProvider } from './memory.ts'
import { createMiddlewareProxy, isMiddlewareKind } from './middleware.ts'
import {
  registerCommand,
  registerDaemon,
  registerHook,
  registerSection,
  registerTool,
  registerUnloadCallback,
} from './proxies.ts'
import { type RegistrationSpec, registrationSpecSchema } from './registration-spec.ts'

export interface PythonRegistry {
  /** Returns whether the registration is active. Throws the error of the registration. */
  register(spec: unknown): boolean
  remove(key: unknown): boolean
  /** `register` in a process has returned, after registering these keys. */
  finishRegistration(keys: unknown): void
}

export function createPythonRegistry(
  { launchOptionsOf, hookTimeoutMs }: PythonPluginsDeps,
  plugin: DiscoveredPlugin,
  context: PluginContext,
  process: PythonProcess,
  serve: HostRequestHandler,
): PythonRegistry {
  const registrar: NamedRegistrar = context
  const registrations = new Map<string, Registration | undefined>()
  const names = new Map<string, number>()
  /** Registered after `register` had returned. */
  const lateKeys = new Set<string>()
  /** `register` in the first process has returned. */
  let isComplete = false

  function add(spec: RegistrationSpec): Registration | undefined {
    switch (spec.kind) {
      case 'hook':
        return registerHook(spec, registrar, process, hookTimeoutMs)
      case 'middleware': {
        const proxy = createMiddlewareProxy(spec, process, serve)
        // Middleware is identified by its function name, so the name must be unique.
        Object.defineProperty(proxy, 'name', { value: uniqueName(`${spec.name} ${spec.called}`, spec.called) })
        const { answers } = spec
        return registrar.registerMiddleware(spec.name, proxy, answers ? { answers } : {})
      }
      case 'tool':
        return registerTool(spec, context, process, () => launchOptionsOf(plugin).env)
      case 'command':
        return registerCommand(spec, context, process)
      case 'daemon':
        return registerDaemon(spec, context, process)
      case 'section':
        return registerSection(spec, context, process, hookTimeoutMs)
      case 'memory':
        return registerMemoryProvider(spec, context, process)
      case 'skill':
        return context.registerSkill(spec.name, spec.path, spec.description ?? '')
      case 'unload':
        registerUnloadCallback(spec, context, process)
        return undefined
    }
  }

  function uniqueName(key: string, name: string): string {
    const number = (names.get(key) ?? 0) + 1
    names.set(key, number)
    return number === 1 ? name : `${name} ${number}`
  }

  return {
    register(value) {
      const parsed = registrationSpecSchema.safeParse(value)
      if (!parsed.success) throw new HermesError('plugins/invalid-registration', parsed.error.issues[0]?.message ?? '')
      const spec = parsed.data
      if (registrations.has(spec.key)) return true
      if (spec.late) lateKeys.add(spec.key)
      else if (isComplete) {
        process.addWarning(`the restarted process registers ${spec.key}, which is new and ignored`)
        return false
      }
      if (spec.kind === 'middleware' && !isMiddlewareKind(spec.name)) {
        process.addWarning(`the middleware kind ${spec.name} does not exist; the registration is ignored`)
        return false
      }
      try {
        registrations.set(spec.key, add(spec))
        return true
      } catch (error) {
        if (!isNameConflict(error, spec)) throw error
        process.addWarning(`the ${spec.kind} ${spec.name} is not registered: ${error.message}`)
        return false
      }
    },

    remove(key) {
      if (typeof key !== 'string') return false
      const registration = registrations.get(key)
      registrations.delete(key)
      return registration?.remove() ?? false
    },

    finishRegistration(keys) {
      const registeredKeys = new Set(Array.isArray(keys) ? keys : [])
      if (isComplete) {
        for (const key of registrations.keys())
          if (!registeredKeys.has(key) && !lateKeys.has(key))
            process.addWarning(`the restarted process does not register ${key} any more`)
      }
      isComplete = true
    },
  }
}

/**
 * A registration that would hide another one without `override` is ignored, but the plugin is loaded, as in upstream
 * Hermes.
 */
function isNameConflict(error: unknown, spec: RegistrationSpec): error is HermesError {
  if (spec.kind === 'tool') return !spec.override && isHermesError(error, 'plugins/tool-taken')
  return spec.kind === 'command' && isHermesError(error, 'plugins/command-taken')
}
