/**
 * Composes the hook registry: the directories of hooks, their settings, the commands and the processes that run handlers.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CommandRegistry } from '../commands/registry.ts'
import type { Config } from '../config/load.ts'
import type { HookRoot } from '../hooks/discovery.ts'
import type { PluginEventHook } from '../hooks/plugin-events.ts'
import { createHookRegistry, type HookRegistry } from '../hooks/registry.ts'
import type { HookGatewayServices } from '../hooks/services.ts'
import { createHost } from '../hosts/host.ts'
import type { HomeLayout } from '../lib/home.ts'
import { uuid7 } from '../lib/ids.ts'
import type { Logger } from '../lib/log.ts'
import { hookEventNames } from '../message/hook-events.ts'
import { hookKindOf, isHookName } from '../plugins/hooks/hook-kinds.ts'
import type { GatewayShapes } from './config.ts'

export interface ComposeHooksDeps {
  readonly home: HomeLayout
  readonly config: Config<GatewayShapes>
  readonly commands: CommandRegistry
  /** Whether plugins that are still loading may register commands. */
  commandsMayFollow?(): boolean
  readonly services: HookGatewayServices
  /** Registers a program or webhook of the configuration beside the callbacks of plugins. */
  registerPluginEventHook(event: string, hook: PluginEventHook): { remove(): unknown }
  /** A gateway without gateway hooks: only programs and webhooks of plugin events. */
  readonly isEmbedded: boolean
  /** Runs the programs of the configuration without consent. */
  readonly acceptAll?: boolean
  readonly clock: () => number
  readonly log: Logger
}

/** Hooks that ship with the gateway. */
const shippedHooksDirectory = fileURLToPath(new URL('../../hooks', import.meta.url))

export function hookDirectories(home: HomeLayout): readonly HookRoot[] {
  return [
    { path: shippedHooksDirectory, origin: 'shipped' },
    { path: home.hooks, origin: 'home' },
  ]
}

export function composeHooks(deps: ComposeHooksDeps): HookRegistry {
  const { home, config, commands, services, isEmbedded, acceptAll = false, clock, log } = deps
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
    commandsMayFollow: () => deps.commandsMayFollow?.() === true,
    resolveCommand: (name) => commands.resolve(name)?.name,
    services,
    pluginEvents: {
      includes: isHookName,
      usesResults: (event) => hookKindOf(event) === 'decision',
      register: deps.registerPluginEventHook,
    },
    onlyPluginEvents: isEmbedded,
    acceptsAll: () => acceptAll || config.current().hooks_auto_accept || autoAcceptEnabled(config.environment().values),
    fetch,
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
