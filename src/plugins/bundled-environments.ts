/**
 * Loads the environments that come with the gateway. Each is a plugin of `plugins/environments`, which `terminal.backend` names:
 * it works without the other plugins and without a daemon, as `hermes doctor` needs it, and in safe mode.
 */
import type { EnvironmentKind } from '../agent/environments/kind.ts'
import type { PluginContext } from './contract.ts'

/** The part of the context that such a plugin receives. */
type EnvironmentContext = Pick<PluginContext, 'registerEnvironment'>

/** Rejects with the error of the plugin. @param name of a bundled kind */
export async function loadBundledEnvironment(name: string): Promise<EnvironmentKind> {
  const { href } = new URL(`../../plugins/environments/${name}/index.ts`, import.meta.url)
  const module: unknown = await import(href)
  if (!isPlugin(module)) throw new TypeError(`${href} has no function register.`)
  let kind: EnvironmentKind | undefined
  module.register({
    registerEnvironment(registered, given) {
      kind = typeof given === 'function' ? { create: given } : given
      return { name: registered, remove: () => false }
    },
  })
  if (kind === undefined) throw new TypeError(`${href} registers no environment.`)
  return kind
}

function isPlugin(value: unknown): value is { register(context: EnvironmentContext): void } {
  return typeof value === 'object' && value !== null && 'register' in value && typeof value.register === 'function'
}
