/**
 * What one plugin in Python has registered, by its key. A later process registers the same again, which changes nothing;
 * what differs is reported.
 */
import type { HostRequestHandler } from '../../hosts/contract.ts'
import { HermesError, isHermesError } from '../../lib/errors.ts'
import type { Registration } from '../../middleware/contract.ts'
import type { PluginContext } from '../contract.ts'
import type { NamedRegistrar, PythonPluginsDeps, PythonProcess } from './contract.ts'
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

export interface PythonRegistryDeps extends Pick<PythonPluginsDeps, 'hookTimeoutMs'> {
  readonly context: PluginContext
  process(): PythonProcess
  readonly serve: HostRequestHandler
  environment(): Readonly<Record<string, string>>
}

export interface PythonRegistry {
  /** Whether it was taken. Throws what the context refuses it with. */
  register(spec: unknown): boolean
  remove(key: unknown): boolean
  /** A process has registered all it wants to: these keys. */
  finishRegistration(keys: unknown): void
}

export function createPythonRegistry(deps: PythonRegistryDeps): PythonRegistry {
  const { context } = deps
  const registrar: NamedRegistrar = context
  const registrations = new Map<string, Registration | undefined>()
  const names = new Map<string, number>()
  /** Registered when `register` had returned. */
  const lateKeys = new Set<string>()
  /** The first process has registered all it wants to. */
  let isComplete = false

  function add(spec: RegistrationSpec): Registration | undefined {
    const process = deps.process()
    switch (spec.kind) {
      case 'hook':
        return registerHook(spec, registrar, process, deps.hookTimeoutMs)
      case 'middleware': {
        const proxy = createMiddlewareProxy(spec, process, deps.serve)
        // Registrations of one kind go by the names of their functions, and those may be the same twice.
        Object.defineProperty(proxy, 'name', { value: uniqueName(`${spec.name} ${spec.called}`, spec.called) })
        return registrar.registerMiddleware(spec.name, proxy)
      }
      case 'tool':
        return registerTool(spec, context, process, deps.environment)
      case 'command':
        return registerCommand(spec, context, process)
      case 'daemon':
        return registerDaemon(spec, context, process)
      case 'section':
        return registerSection(spec, context, process, deps.hookTimeoutMs)
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
    register(given) {
      const parsed = registrationSpecSchema.safeParse(given)
      if (!parsed.success) throw new HermesError('plugins/invalid-registration', parsed.error.issues[0]?.message ?? '')
      const spec = parsed.data
      if (registrations.has(spec.key)) return true
      if (spec.late) lateKeys.add(spec.key)
      else if (isComplete) {
        deps.process().addWarning(`its new process registers ${spec.key}, which the one before had not; it is left out`)
        return false
      }
      if (spec.kind === 'middleware' && !isMiddlewareKind(spec.name)) {
        deps.process().addWarning(`there is no middleware of the kind ${spec.name}; it is left out`)
        return false
      }
      try {
        registrations.set(spec.key, add(spec))
        return true
      } catch (error) {
        if (!isNameConflict(error, spec)) throw error
        deps.process().addWarning(`the ${spec.kind} ${spec.name} is left out: ${error.message}`)
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
            deps.process().addWarning(`its new process does not register ${key} any more; it does nothing`)
      }
      isComplete = true
    },
  }
}

/** As upstream has it: what would stand before something else without saying so is left out, and the plugin is loaded. */
function isNameConflict(error: unknown, spec: RegistrationSpec): error is HermesError {
  if (spec.kind === 'tool') return !spec.override && isHermesError(error, 'plugins/tool-taken')
  return spec.kind === 'command' && isHermesError(error, 'plugins/command-taken')
}
