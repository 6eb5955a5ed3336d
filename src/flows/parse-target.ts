/**
 * Addresses as people write them (contract §3.11): `<platform>` for its home channel, `<platform>:<chat_id>[:<thread_id>]`.
 */
import type { Target } from '../message/source.ts'
import type { PlatformAccount } from '../platforms/accounts.ts'

export type ParseTargetResult = { readonly target: Target } | { readonly problem: string }

/**
 * Platforms are found whatever their case, ids are taken as they are. The first account that is not switched off is the
 * one that sends.
 */
export function parseTarget(text: string, accounts: readonly PlatformAccount[]): ParseTargetResult {
  const [name = '', ...rest] = text.trim().split(':')
  const wanted = name.toLowerCase()
  const own = accounts.filter(({ platform }) => platform.name.toLowerCase() === wanted)
  const usable = own.filter(({ blocked }) => blocked === undefined)
  if (own.length === 0) {
    const names = [
      ...new Set(accounts.filter(({ blocked }) => blocked === undefined).map(({ platform }) => platform.name)),
    ]
    return { problem: `no platform is called ${JSON.stringify(name)}; connected are ${names.join(', ')}` }
  }
  const [first] = usable
  if (first === undefined) return { problem: `${wanted} is off: ${own[0]?.blocked?.reason ?? 'not configured'}` }
  if (rest.length === 0 || rest.join(':') === '') {
    const withHome = usable.find(({ homeChannel }) => homeChannel !== undefined)
    if (withHome?.homeChannel === undefined) {
      return {
        problem: `${wanted} has no home channel: set platforms.${wanted}.home_channel, or name a chat: ${wanted}:<chat_id>`,
      }
    }
    return { target: targetOf(withHome, withHome.homeChannel.chatId, withHome.homeChannel.threadId) }
  }
  const [chatId = '', ...thread] = rest
  if (chatId === '') return { problem: `expected ${wanted}:<chat_id>[:<thread_id>], found ${JSON.stringify(text)}` }
  return { target: targetOf(first, chatId, thread.length === 0 ? undefined : thread.join(':')) }
}

/** Where the answer of a background task goes; null: it stays in the session of the task. */
export type ParseDeliveryResult = { readonly target: Target | null } | { readonly problem: string }

/**
 * As `parseTarget`, and `local` for nowhere. Left out, or `home`: the first home channel that is set, nowhere where none
 * is. `origin`, the chat that asked, means the same for who has none.
 */
export function parseDelivery(text: string | undefined, accounts: readonly PlatformAccount[]): ParseDeliveryResult {
  const word = text?.trim().toLowerCase() ?? 'home'
  if (word === 'local') return { target: null }
  if (text !== undefined && word !== 'home' && word !== 'origin') return parseTarget(text, accounts)
  const first = accounts.find(({ homeChannel, blocked }) => homeChannel !== undefined && blocked === undefined)
  return {
    target:
      first?.homeChannel === undefined ? null : targetOf(first, first.homeChannel.chatId, first.homeChannel.threadId),
  }
}

function targetOf({ platform, account }: PlatformAccount, chatId: string, threadId: string | undefined): Target {
  return { platform: platform.name, account, chatId, ...(threadId === undefined ? {} : { threadId }) }
}
