/**
 * Targets as people write them (contract §3.11): `origin`, `local`, `home`, `<platform>` for its home channel,
 * `<platform>:<chat_id>[:<thread_id>]` and `<platform>:#<name>`. An account other than the first is `<platform>/<account>`.
 */
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import type { PlatformAccount } from '../../platforms/accounts.ts'

export type ParsedTarget =
  | { readonly kind: 'origin' | 'local' }
  /** The home channel of the first of these accounts that has one. */
  | { readonly kind: 'home'; readonly accounts: readonly PlatformAccount[]; readonly platform?: string }
  | {
      readonly kind: 'chat'
      readonly account: PlatformAccount
      readonly chatId: string
      readonly threadId: string | undefined
    }
  /** `name` begins with `#` or `@`. */
  | {
      readonly kind: 'name'
      readonly account: PlatformAccount
      readonly name: string
      readonly threadId: string | undefined
    }
  | { readonly problem: string }

const maxTargetChars = 500

/**
 * Platforms are found whatever their case, ids are taken as they are. Without an account, the first that is not switched off
 * is used.
 */
export function parseTarget(text: string, accounts: readonly PlatformAccount[]): ParsedTarget {
  const trimmed = text.trim()
  if (trimmed.length > maxTargetChars) return { problem: `a target has at most ${maxTargetChars} characters` }
  const [first = '', ...rest] = trimmed.split(':')
  const word = first.toLowerCase()
  if (rest.length === 0 && (word === 'origin' || word === 'local')) return { kind: word }
  if (rest.length === 0 && word === 'home')
    return { kind: 'home', accounts: accounts.filter(({ blocked }) => blocked === undefined) }
  const [name = '', accountName] = word.split('/', 2)
  const usable = usableAccounts(name, accountName, accounts)
  if ('problem' in usable) return usable
  const [chatId = '', ...thread] = rest
  if (rest.join(':') === '') return { kind: 'home', accounts: usable.accounts, platform: name }
  if (chatId === '')
    return { problem: `expected ${name}:<chat_id>[:<thread_id>], found ${JSON.stringify(trimmed.slice(0, 100))}` }
  const threadId = thread.length === 0 ? undefined : thread.join(':')
  const [account] = usable.accounts
  return /^[#@]/.test(chatId)
    ? { kind: 'name', account, name: chatId, threadId }
    : { kind: 'chat', account, chatId, threadId }
}

function usableAccounts(
  name: string,
  accountName: string | undefined,
  accounts: readonly PlatformAccount[],
): { readonly accounts: readonly [PlatformAccount, ...PlatformAccount[]] } | { readonly problem: string } {
  const matching = accounts.filter(({ platform }) => platform.name.toLowerCase() === name)
  if (matching.length === 0) {
    const on = accounts.filter(({ blocked }) => blocked === undefined)
    const names = [...new Set(on.map(({ platform }) => platform.name))]
    const similar = findClosestMatch(name, names)
    const hint = similar === null ? '' : ` (did you mean ${similar}?)`
    return {
      problem: `no platform is called ${JSON.stringify(name.slice(0, 100))}${hint}; connected are ${names.join(', ')}`,
    }
  }
  const named =
    accountName === undefined
      ? matching
      : matching.filter(({ account }) => account.toLowerCase() === accountName.toLowerCase())
  if (named.length === 0) {
    const names = matching.map(({ account }) => account).join(', ')
    return { problem: `${name} has no account ${JSON.stringify(accountName)}; it has ${names}` }
  }
  const [first, ...others] = named.filter(({ blocked }) => blocked === undefined)
  if (first === undefined) return { problem: `${name} is off: ${named[0]?.blocked?.reason ?? 'not configured'}` }
  return { accounts: [first, ...others] }
}
