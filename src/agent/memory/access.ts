/**
 * Who reads and who changes which memory. The notes and the profile are the owner's: what one conversation writes, all later
 * ones read.
 */
import type { Authority } from '../../message/authority.ts'
import type { MemorySettings } from './config.ts'
import type { MemoryTarget } from './contract.ts'

/** The titles of the blocks in the system prompt. */
export const memoryTitles: Readonly<Record<MemoryTarget, string>> = {
  memory: 'MEMORY (your personal notes)',
  user: 'USER PROFILE (who the user is)',
}

/** Whether a frozen prompt of a private conversation shows its person more than the role permits now: it was a higher one then. */
export function showsForbiddenMemory(prompt: string, { role, chatType }: Authority): boolean {
  if (role === 'owner' || chatType !== 'dm') return false
  const forbidden = role === 'guest' ? Object.values(memoryTitles) : [memoryTitles.user]
  // No entry has such a line.
  return forbidden.some((title) => prompt.includes(`═\n${title} [`))
}

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
