/**
 * One account of Telegram as all parts of the adapter see it. The parts get this one value.
 */
import { Agent } from 'node:https'
import { Telegram } from 'telegraf'
import type { PlatformContext } from '#sdk'
import { type BotApi, createBotApi } from './connection/api.ts'
import { parseOptions, type TelegramOptions } from './options.ts'

export interface TelegramAccount {
  readonly context: PlatformContext
  readonly options: TelegramOptions
  readonly api: BotApi
  /** Its signal aborts when the account is disconnected. */
  readonly stopping: AbortController
}

/** Throws `config/invalid` when an option is missing or invalid. */
export function createAccount(context: PlatformContext): TelegramAccount {
  const options = parseOptions(context.options, context.account)
  return { context, options, api: createApi(options), stopping: new AbortController() }
}

export function createApi(options: TelegramOptions): BotApi {
  const { token, apiRoot } = options
  // A request over an idle connection that the server has closed would fail, so idle connections are closed first.
  const agent = new Agent({ keepAlive: true, timeout: 5_000 })
  return createBotApi(options, new Telegram(token, { apiRoot, agent }))
}
