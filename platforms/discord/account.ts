/**
 * One account of Discord as all parts of the adapter see it. The parts get this one value.
 */
import type { REST } from 'discord.js'
import type { PlatformContext } from '#sdk'
import { type Api, createApi } from './connection/api.ts'
import { createRest } from './connection/rest.ts'
import { createGuildCache, type GuildCache } from './inbound/guild-cache.ts'
import { type DiscordOptions, parseOptions } from './options.ts'
import { createThreadOpener, type ThreadOpener } from './outbound/threads.ts'

export interface DiscordAccount {
  readonly context: PlatformContext
  readonly options: DiscordOptions
  readonly rest: REST
  readonly api: Api
  readonly guildCache: GuildCache
  readonly threads: ThreadOpener
  /** Its signal aborts when the adapter stops. */
  readonly stopping: AbortController
}

/** Throws `config/invalid` when an option is missing or invalid. */
export function createAccount(context: PlatformContext): DiscordAccount {
  const options = parseOptions(context.options)
  const rest = createRest(options)
  const api = createApi(rest)
  const guildCache = createGuildCache()
  const threads = createThreadOpener(api, guildCache, context.log)
  return { context, options, rest, api, guildCache, threads, stopping: new AbortController() }
}
