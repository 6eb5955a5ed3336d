/**
 * Composes the hook registry: the directories of hooks, their settings, the commands and the processes that run handlers.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CommandRegistry } from '../commands/registry.ts'
import type { HookRoot } from '../hooks/discovery.ts'
import { createHookRegistry, type HookRegistry } from '../hooks/registry.ts'
import type { HookGatewayServices } from '../hooks/services.ts'
import { createHost } from '../hosts/host.ts'
import type { HomeLayout } from '../lib/home.ts'
import { uuid7 } from '../lib/ids.ts'
import { hookEventNames } from '../message/hook-events.ts'
import { hookKindOf, isHookName } from '../plugins/hooks/hook-kinds.ts'
import type { Runtime } from '../store/runtime.ts'
import type { PluginRegistries } from './compose-plugin-registries.ts'
import type { AppContext } from './context.ts'

/** Hooks that ship with the gateway. */
const shippedHooksDirectory = fileURLToPath(new URL('../../hooks', import.meta.url))

export function hookDirectories(home: HomeLayout): readonly HookRoot[] {
  return [
    { path: shippedHooksDirectory, origin: 'shipped' },
    { path: home.hooks, origin: 'home' },
  ]
}

/**
 * @param services what handlers may request
 * @param gateway absent where there is none: the events of plugins occur only in a gateway
 */
export function composeHooks(
  { home, config, clock, log }: Pick<AppContext, 'config'> & Pick<Runtime, 'home' | 'clock' | 'log'>,
  commands: CommandRegistry,
  services: HookGatewayServices,
  gateway?: Pick<AppContext, 'mode' | 'options'> & { readonly registries: PluginRegistries },
): HookRegistry {
  // An embedded gateway has only the programs and webhooks of plugin events.
  const isEmbedded = gateway?.mode.loadsHooks === false
  const acceptAll = gateway?.options.acceptHooks === true
  return createHookRegistry({
    roots: isEmbedded ? [] : hookDirectories(home),
    folder: home.hooks,
    home: home.root,
    cacheFolder: join(home.cache, 'handlers'),
    manifestCache: join(home.cache, 'hooks.json'),
    settings: () => config.current().hooks,
    environment: () => config.environment().values,
    createHost,
    emittedEvents: () => eventNames(commands),
    commandsMayFollow: () => gateway?.registries.loading !== undefined,
    resolveCommand: (name) => commands.resolve(name)?.name,
    services,
    pluginEvents: {
      includes: isHookName,
      usesResults: (event) => hookKindOf(event) === 'decision',
      register(event, { id, failsClosed, call }) {
        if (gateway === undefined) return { remove: () => undefined }
        const { registries } = gateway
        registries.connect()
        // The program has a time limit of its own.
        const fails = failsClosed ? ({ fails: 'closed' } as const) : {}
        return registries.hooks.registerNamed(id, event, call, { timeoutMs: 0, ...fails })
      },
    },
    onlyPluginEvents: isEmbedded,
    acceptsAll: () => acceptAll || config.current().hooks_auto_accept || autoAcceptEnabled(config.environment().values),
    newId: () => uuid7(clock()),
    clock,
    log,
  })
}

function autoAcceptEnabled({ HERMES_ACCEPT_HOOKS = '' }: Readonly<Record<string, string>>): boolean {
  return /^(1|true|yes|on)$/i.test(HERMES_ACCEPT_HOOKS)
}

/** All event names, including those of commands. */
export function eventNames(commands: Pick<CommandRegistry, 'list'>): string[] {
  return [...hookEventNames, ...commands.list().map(({ name }) => `command:${name}`)]
}
