/**
 * Decides who reads and who changes which memory. The notes and the profile are the owner's: what one conversation writes, all later
 * ones read.
 */
import type { Authority } from '../../message/authority.ts'
import type { MemorySettings } from './config.ts'
import type { MemoryTarget } from './contract.ts'

export interface MemoryReader {
  readonly authority: Authority
  /** Several people share the session. */
  readonly isShared: boolean
  /** The session belongs to a background task, which no user follows. */
  readonly isBackground: boolean
}

export function enabledTargets(settings: MemorySettings): readonly MemoryTarget[] {
  return [
    ...(settings.memory_enabled ? (['memory'] as const) : []),
    ...(settings.user_profile_enabled ? (['user'] as const) : []),
  ]
}

/** What the conversation of this person may show. In a group others read the answers, and may write later. */
export function readableTargets(
  settings: MemorySettings,
  { authority, isShared, isBackground }: MemoryReader,
): readonly MemoryTarget[] {
  if (isBackground) return []
  const isPrivate = authority.chatType === 'dm' && !isShared
  return writableTargets(settings, authority).filter(
    (target) =>
      isPrivate || settings.group_memory === 'all' || (settings.group_memory === 'notes' && target === 'memory'),
  )
}

/** A guest changes nothing, and a member not the profile of the owner. */
export function writableTargets(settings: MemorySettings, { role }: Authority): readonly MemoryTarget[] {
  if (role === 'guest') return []
  return enabledTargets(settings).filter((target) => target === 'memory' || role === 'owner')
}
