/**
 * What hooks use of the gateway, and what their sources, the folders and the configuration, use of the registry.
 */
import type { Host, HostOptions } from '../hosts/contract.ts'
import type { Logger } from '../lib/log.ts'
import type { HooksConfig } from './config.ts'
import type { HookRoot } from './discovery.ts'
import type { PluginEvents } from './plugin-events.ts'
import type { HookGatewayServices } from './services.ts'

export interface HookRegistryDeps {
  readonly roots: readonly HookRoot[]
  /** The user's hooks directory. */
  readonly folder: string
  /** `$HERMES_HOME`. */
  readonly home: string
  /** The directory that caches JavaScript produced from TypeScript handlers. */
  readonly cacheFolder: string
  /** The file that caches parsed manifests. */
  readonly manifestCache: string
  readonly settings: () => HooksConfig
  readonly environment: () => Readonly<Record<string, string>>
  createHost(options: HostOptions): Host
  /** The gateway functions that handlers may call. */
  readonly services: HookGatewayServices
  /** Every event that is emitted, including those of commands. */
  emittedEvents(): readonly string[]
  /** Whether further commands, and so their events, may follow shortly. */
  commandsMayFollow?(): boolean
  /** The canonical name of a slash command or of one of its aliases. */
  resolveCommand(name: string): string | undefined
  readonly pluginEvents: PluginEvents
  /** Whether hooks of other events are left out. False by default. */
  readonly onlyPluginEvents?: boolean | undefined
  /** Whether programs run without having been accepted. */
  readonly acceptsAll: () => boolean
  readonly newId: () => string
  readonly clock: () => number
  readonly log: Logger
}

/** What a source of hooks asks the registry and tells it. */
export interface HookSubscriptions {
  /** Why an event is not emitted. */
  eventIssue(event: string): string | undefined
  /** The names under which events are emitted. */
  canonicalEvents(events: readonly string[]): string[]
  isPaused(id: string): boolean
  /** Called when the subscriptions have changed. */
  onChange(): void
}
