/**
 * Decides what a message does that arrives while its conversation is busy: it ends the running turn, joins it, joins a message
 * that waits, or waits for a turn of its own.
 */

import { isSameAuthority } from '../../message/authority.ts'
import { type BusyInputMode, busyInputModes } from '../../message/conversation-choices.ts'
import { hasWaitingUser, isSpoken, type MessageEvent, parseCommand } from '../../message/event.ts'
import type { SessionSettings } from '../../sessions/session-state.ts'
import type { BusyMode } from '../../store/schema.ts'
import type { DisplayConfig } from '../turn/config.ts'

export interface BusyState {
  /** The turn that is open, with the event that began it. */
  readonly open: { readonly event: MessageEvent; readonly isProtected: boolean } | undefined
  /** The newest message before this one that has not ended; undefined when none waits. */
  readonly previous:
    | { readonly event: MessageEvent; readonly mode: BusyMode | null; readonly isBurst: boolean }
    | undefined
}

export interface BusyDecision {
  readonly mode: BusyMode
  /** It belongs to the turn of the previous message. */
  readonly joins: boolean
  readonly interrupts: boolean
  /** It may be steered into the open turn. */
  readonly steers: boolean
}

/** Whether a person who waits for the answer has written the message. Programs and the gateway itself always queue. */
export function isInteractive(event: MessageEvent): boolean {
  return event.internal !== true && event.task === undefined && event.compress === undefined && hasWaitingUser(event)
}

/** The mode that applies to a message: its own, that of its conversation, or the configured one. */
export function chosenMode(event: MessageEvent, settings: SessionSettings, config: DisplayConfig): BusyInputMode {
  if (event.busyMode !== undefined) return event.busyMode
  if (!isInteractive(event)) return 'queue'
  const configuredMode = busyInputModes.find((mode) => mode === settings.busy_input_mode)
  if (configuredMode !== undefined) return configuredMode
  // An adapter may have a mode of its own: the page of the gateway shows what waits, and queues.
  const given = busyInputModes.find((mode) => mode === event.metadata?.['busy'])
  return given ?? config.display.busy_text_mode ?? config.display.busy_input_mode
}

export function decide(event: MessageEvent, mode: BusyInputMode, { open, previous }: BusyState): BusyDecision {
  const waits = { mode: 'queue', joins: false, interrupts: false, steers: false } as const
  if (!isOrdinary(event)) return waits
  const isOwnMode = event.busyMode !== undefined
  const hasFiles = (event.attachments ?? []).length > 0
  const joinable = !isOwnMode && previous !== undefined && mayBeJoined(previous.event, event) ? previous : undefined
  const ownTurn = open !== undefined && isOrdinary(open.event) && haveSameAuthor(open.event, event) ? open : undefined
  switch (mode) {
    case 'collect':
      return { ...waits, mode, joins: joinable !== undefined }
    case 'interrupt': {
      const joins = joinable !== undefined && joinable.mode !== 'queue'
      if (hasFiles) return { ...waits, mode: 'media', joins }
      if (open === undefined) return { ...waits, mode, joins }
      const interrupts = ownTurn !== undefined && !ownTurn.isProtected
      return interrupts ? { ...waits, mode, joins, interrupts } : waits
    }
    case 'steer':
      if (waitsForFiles(event, ownTurn)) return { ...waits, mode: 'media', joins: joinable?.mode === 'media' }
      // A text after files that wait is about them, so it does not overtake them.
      return ownTurn === undefined || joinable?.mode === 'media' ? waits : { ...waits, mode, steers: true }
    case 'queue':
      if (hasFiles && !isOwnMode) return { ...waits, mode: 'media', joins: joinable?.mode === 'media' }
      return { ...waits, joins: joinable?.isBurst === true && !hasFiles && joinable.mode !== 'media' }
  }
}

/** Voice messages are transcribed while the turn runs. */
function waitsForFiles(event: MessageEvent, turn: BusyState['open']): boolean {
  return (event.attachments ?? []).length > 0 && (turn === undefined || !isSpoken(event))
}

/** A message of a person for the model. */
function isOrdinary(event: MessageEvent): boolean {
  return (
    event.task === undefined && event.compress === undefined && event.internal !== true && parseCommand(event) === null
  )
}

function mayBeJoined(previous: MessageEvent, event: MessageEvent): boolean {
  return (
    isOrdinary(previous) &&
    isInteractive(previous) &&
    previous.busyMode === undefined &&
    haveSameAuthor(previous, event)
  )
}

/** A message of another person, or with other rights, never ends or joins the turn of a person. */
function haveSameAuthor({ authority: a }: MessageEvent, { authority: b }: MessageEvent): boolean {
  return a !== undefined && b !== undefined && isSameAuthority(a, b)
}
