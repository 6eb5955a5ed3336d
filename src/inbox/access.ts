/**
 * Who may talk to the agent (contract §3.10). Closed by default: without a rule that lets somebody in, nobody is.
 *
 * Pure: a source, what the event says, and the rules of its account in; a verdict with its reason out.
 */
import type { SessionSource } from '../message/source.ts'

/** The rules of one account of a platform, with the gateway-wide ones. */
export interface AccessRules {
  /** `token`: whoever reaches the platform holds the gateway's token, or sits at its terminal. */
  readonly access: 'token' | 'allowlist'
  /** User ids; `*` is everybody. */
  readonly allowFrom: readonly string[]
  /** User ids that count in groups only. */
  readonly groupAllowFrom: readonly string[]
  /** Chats in which everybody may speak; `*` is every group. A thread counts as its channel. */
  readonly groupAllowedChats: readonly string[]
  readonly allowAllUsers: boolean
  /** `mentions`: the adapter hands in only those messages of bots that mention us. */
  readonly allowBots: 'none' | 'mentions' | 'all'
  /** `GATEWAY_ALLOWED_USERS`: ids that count on every platform. */
  readonly gatewayAllowedUsers: readonly string[]
  /** `GATEWAY_ALLOW_ALL_USERS`. */
  readonly gatewayAllowAllUsers: boolean
}

/** What the event itself says about its right to come in. */
export interface EventOrigin {
  /** Made by the gateway (cron, background results). */
  readonly internal?: boolean | undefined
}

export interface AccessDecision {
  readonly allowed: boolean
  /** For the log, and for the sender where the platform is private. */
  readonly reason: string
}

/** The first rule that applies decides, in the order of the contract. */
export function decideAccess(source: SessionSource, origin: EventOrigin, rules: AccessRules): AccessDecision {
  if (origin.internal === true) return allow('made by the gateway itself')
  if (rules.access === 'token') return allow('the platform checks the token of the gateway')

  const inGroup = source.chatType !== 'dm'
  if (inGroup && matchesAny(rules.groupAllowedChats, [source.chatId, source.parentChatId])) {
    return allow('the chat is on the list of group chats')
  }
  if (source.isBot === true && rules.allowBots !== 'none') return allow('bots are allowed')
  if (source.userId === undefined || source.userId === '') return deny('the message names no user')
  if (rules.allowAllUsers) return allow('the platform is open to all users')
  if (source.roleAuthorized === true) return allow('the user holds a role that may use the agent')

  const user = [source.userId, source.userIdAlt]
  if (matchesAny(rules.allowFrom, user)) return allow('the user is on the allow list')
  if (inGroup && matchesAny(rules.groupAllowFrom, user)) return allow('the user is on the allow list for groups')
  if (matchesAny(rules.gatewayAllowedUsers, user)) return allow('the user is on the allow list of the gateway')
  if (rules.gatewayAllowAllUsers) return allow('the gateway is open to all users')
  if (deniesEveryone(rules)) return deny('no allow list is set, so nobody may come in')
  return deny(
    `the user is on no allow list${containsUserNames(source, rules) ? '; it holds names, and only ids count' : ''}`,
  )
}

/** No platform has ids that begin with an @. Tells whoever made the list what is wrong with it; lets nobody in. */
function containsUserNames({ userName }: SessionSource, rules: AccessRules): boolean {
  const listed = [...rules.allowFrom, ...rules.groupAllowFrom, ...rules.gatewayAllowedUsers]
  return listed.some((entry) => entry.startsWith('@') || (entry !== '' && entry === userName))
}

/** True where the rules refuse everybody but holders of a role: worth a warning when the platform starts. */
export function deniesEveryone(rules: AccessRules): boolean {
  const lists = [rules.allowFrom, rules.groupAllowFrom, rules.groupAllowedChats, rules.gatewayAllowedUsers]
  const open = rules.access === 'token' || rules.allowAllUsers || rules.gatewayAllowAllUsers
  return !open && rules.allowBots === 'none' && lists.every((list) => list.length === 0)
}

/** An empty id never matches, so that an empty entry of a list opens nothing. */
function matchesAny(list: readonly string[], ids: readonly (string | undefined)[]): boolean {
  if (list.includes('*')) return true
  return ids.some((id) => id !== undefined && id !== '' && list.includes(id))
}

function allow(reason: string): AccessDecision {
  return { allowed: true, reason }
}

function deny(reason: string): AccessDecision {
  return { allowed: false, reason }
}
