/**
 * The session key: which conversation a message belongs to (contract §3.3).
 * Layout `<namespace>:<platform>:<chat type>[:<scope>][:<chat id>][:<thread id>][:<participant>]`.
 */
import { brand } from '../lib/ids.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'

export interface SessionKeyRules {
  /** Each user of a group or channel has a separate session. Default true. */
  readonly groupSessionsPerUser: boolean
  /** Each user of a thread has a separate session. Default false: a thread is shared. */
  readonly threadSessionsPerUser: boolean
  /** Whether the platform's scope id (workspace) is part of the key; its plugin.yaml says so. */
  readonly scoped: boolean
}

/** Pure and total: every source has exactly one key. An empty id counts as missing, as in the contract. */
export function sessionKeyOf(source: SessionSource, rules: SessionKeyRules): SessionKey {
  const scope = rules.scoped ? source.scopeId : undefined
  const slot = nonEmpty(source.prospectiveThreadId) === undefined ? source.chatType : 'thread'
  const head = [namespaceOf(source.profile), source.platform, slot, ...presentParts(scope)]
  return brand<SessionKey>([...head, ...conversationParts(source, rules)].join(':'))
}

/** The platform of a key: its third part, after the two parts of the namespace. */
export function platformOf(key: string): string {
  return key.split(':', 3)[2] ?? ''
}

/** Whether several users share the session, so that each message needs the name of its author (contract §3.3). */
export function isSharedSession(source: SessionSource, rules: SessionKeyRules): boolean {
  return source.chatType !== 'dm' && exclusiveParticipant(source, rules) === undefined
}

function namespaceOf(profile: string | undefined): string {
  if (profile === undefined || profile === '' || profile === 'default') return 'agent:main'
  // A profile named "main" must not share keys with the default profile.
  return profile === 'main' ? 'agent:main~' : `agent:${profile}`
}

function conversationParts(source: SessionSource, rules: SessionKeyRules): string[] {
  const thread = threadOf(source)
  if (source.chatType === 'dm') return presentParts(nonEmpty(source.chatId) ?? participantOf(source), thread)
  return presentParts(source.chatId, thread, exclusiveParticipant(source, rules))
}

/** The user who has the session alone; undefined when it is shared or no user is known. */
function exclusiveParticipant(source: SessionSource, rules: SessionKeyRules): string | undefined {
  const isExclusive = rules.groupSessionsPerUser && (threadOf(source) === undefined || rules.threadSessionsPerUser)
  return isExclusive ? participantOf(source) : undefined
}

function participantOf({ userIdAlt, userId }: SessionSource): string | undefined {
  return nonEmpty(userIdAlt) ?? nonEmpty(userId)
}

function threadOf({ prospectiveThreadId, threadId }: SessionSource): string | undefined {
  return nonEmpty(prospectiveThreadId) ?? nonEmpty(threadId)
}

function nonEmpty(id: string | undefined): string | undefined {
  return id === '' ? undefined : id
}

function presentParts(...parts: (string | undefined)[]): string[] {
  return parts.filter((part) => nonEmpty(part) !== undefined).map(String)
}
