/**
 * What the configuration decides about a tool call before a user is asked (contract §4.10): `approvals.mode`, `/yolo`,
 * `command_allowlist`, and the modes of turns that no user follows.
 */

import { isOnAllowlist } from '../agent/command-policy/command-shape.ts'
import type { ApprovalNeed } from '../agent/tools/tool.ts'
import type { Role } from '../message/authority.ts'
import { hasWaitingUser, type MessageEvent, mayBeAsked } from '../message/event.ts'
import { commandLinePlatform } from '../message/source.ts'
import type { ApprovalsConfig } from './config.ts'

interface ApprovalSituation {
  readonly event: MessageEvent
  /** The role of the person who caused the turn. */
  readonly role: Role
  /** `/yolo` of the conversation, or `HERMES_YOLO_MODE`. */
  readonly yolo: boolean
  /** A model has said a clear yes. */
  readonly judged: boolean
  /** The user has accepted changes of files: `workspace` those in the folder of the conversation, `everywhere` all but sensitive ones. */
  readonly edits: string | undefined
}

/** Returns what a user must still allow, or `deny` where no user can be asked. */
export function settledByConfiguration(
  { approvals, command_allowlist }: ApprovalsConfig,
  needs: readonly ApprovalNeed[],
  { event, role, yolo, judged, edits }: ApprovalSituation,
): readonly ApprovalNeed[] | 'deny' {
  const unattended = unattendedModeOf(event, approvals)
  const isSettled = (need: ApprovalNeed): boolean => {
    // What a plugin requires, what only an owner may allow, and a command that could not be checked are always asked.
    if (need.source === 'plugin' || need.ownerOnly === true || need.remember === 'call') return false
    if (approvals.mode === 'off' || judged || (yolo && role === 'owner')) return true
    if (need.source === 'conversation' && isAccepted(need.ruleKey, edits)) return true
    if (need.command !== undefined && isOnAllowlist(need.command, command_allowlist)) return true
    // A tool is allowed by its name, whatever its arguments are.
    if (need.command === undefined && need.shape !== undefined && command_allowlist.includes(need.shape)) return true
    return unattended === 'approve'
  }
  const remaining = needs.filter((need) => !isSettled(need))
  return remaining.length > 0 && unattended !== undefined ? 'deny' : remaining
}

function isAccepted(ruleKey: string, edits: string | undefined): boolean {
  // The choice was taken back meanwhile.
  if (edits === undefined) return true
  return ruleKey === 'edit' ? edits !== 'ask' : ruleKey === 'edit-elsewhere' && edits === 'everywhere'
}

/** Undefined where a user follows the turn. */
function unattendedModeOf(
  event: MessageEvent,
  { cron_mode, single_query_mode, unattended_mode }: ApprovalsConfig['approvals'],
): 'deny' | 'approve' | undefined {
  const { task, source } = event
  if (task !== undefined) return task.route.startsWith('cron') ? cron_mode : unattended_mode
  if (hasWaitingUser(event)) return undefined
  const mode = source.platform === commandLinePlatform ? single_query_mode : unattended_mode
  return mode === 'deny' && mayBeAsked(event) ? undefined : mode
}
