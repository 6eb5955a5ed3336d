/**
 * The question about a tool call: its text, its choices, who is asked, and what an answer covers.
 */
import { createHash } from 'node:crypto'
import type { ToolApprovalRequest } from '../agent/loop/tool-approval.ts'
import type { ApprovalNeed } from '../agent/tools/tool.ts'
import type { Role } from '../message/authority.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { ApprovalsConfig } from './config.ts'
import {
  formatChange,
  formatCommand,
  formatPath,
  formatReason,
  formatToolCall,
  formatWholeCommand,
  type Redact,
} from './format-tool-call.ts'
import type { Approver, Choice, Question } from './question.ts'

interface QuestionContext {
  readonly event: MessageEvent
  readonly sessionKey: SessionKey
  readonly approver: Approver
}

/** The key under which a remembered answer is stored. */
export function ruleOf({ source, ruleKey, command, shape, place }: ApprovalNeed): string {
  if (source === 'plugin') return `tool:${ruleKey}`
  const action = JSON.stringify([ruleKey, shape ?? command, place])
  const hash = createHash('sha256').update(action).digest('hex').slice(0, 32)
  // The text is for `hermes approvals list`.
  return `command:${hash} ${(shape ?? command ?? place).slice(0, 120).toWellFormed()}`
}

/** For the model: no user can be asked in this turn. */
export function deniedUnattended({ info, needs }: ToolApprovalRequest): string {
  const reasons = needs.map(({ reason }) => reason).filter((reason) => reason !== '')
  const why = reasons.length === 0 ? '' : ` (${reasons.join(' ')})`
  return `A user must allow ${info.toolName} first${why}, and no user can be asked here. It was not run.`
}

/** The person who may answer, or why no one here could: a private chat has no other person. */
export function askedOf(
  needs: readonly ApprovalNeed[],
  configured: 'requester' | 'owner' | 'other_owner',
  { chatType }: SessionSource,
  role: Role,
): Approver | { readonly deny: string } {
  if (needs.every(({ source }) => source !== 'policy')) return 'requester'
  const approver =
    needs.some(({ ownerOnly }) => ownerOnly === true) && configured === 'requester' ? 'owner' : configured
  const isAlone = chatType === 'dm'
  if (isAlone && (approver === 'other_owner' || (approver === 'owner' && role !== 'owner')))
    return {
      deny: 'Only another person, an owner, may allow this, and no other person is in this chat. It was not run. Tell the user to ask an owner in a shared chat.',
    }
  return approver
}

const changedText =
  'A plugin has changed the arguments since you allowed them. The new values are not shown, because they may be secrets.'

/** A plugin may insert secrets that only it can recognise: such a question shows what was allowed before. */
export function withoutChanges(request: ToolApprovalRequest): ToolApprovalRequest {
  const { approvedArgs: args } = request
  if (args === undefined) return request
  const needs = request.needs.map(({ command: _command, shape: _shape, changes: _changes, ...need }): ApprovalNeed => {
    return { ...need, reason: `${need.reason} ${changedText}`.trim(), remember: 'call' }
  })
  return { ...request, args, needs }
}

export function questionFor(
  { redact, settings }: { readonly redact: Redact; readonly settings: () => ApprovalsConfig },
  id: string,
  { info, args, needs }: ToolApprovalRequest,
  { event, sessionKey, approver }: QuestionContext,
): Question {
  const { toolName, toolCallId, turn } = info
  const { source, messageId } = event
  const reason = formatReason(needs.map((need) => need.reason).join(' '), redact)
  const command = needs.find((need) => need.command !== undefined)?.command
  const call = command === undefined ? formatToolCall(args, redact) : formatWholeCommand(command, redact)
  const changes = needs.find((need) => need.changes !== undefined)?.changes
  const asks = changes === undefined ? `run \`${toolName}\`` : whatChanges(changes, redact)
  const shown = call === '' ? [] : [`\`\`\`\n${call}\n\`\`\``]
  const lines = [
    `May I ${asks}?${reason === '' ? '' : ` ${reason}`}`,
    ...(changes === undefined ? shown : changes.map((change) => formatChange(change, redact))),
    ...contextLines(needs, redact),
  ]
  return {
    id,
    kind: 'approval',
    sessionKey,
    source,
    text: lines.join('\n\n'),
    choices: choicesFor(needs, turn.sessionId),
    unanswered: { says: `\`${toolName}\` was not run.` },
    timeoutMs: settings().approvals.timeout * 1_000,
    replyTo: messageId,
    ...(needs.some((need) => need.source === 'policy') ? { approver } : {}),
    about: {
      command: formatCommand(toolName, args, redact),
      description: reason,
      patternKeys: needs.map(({ ruleKey }) => ruleKey),
      turnId: turn.turnId,
      toolCallId,
    },
  }
}

function whatChanges([first, ...more]: NonNullable<ApprovalNeed['changes']>, redact: Redact): string {
  if (first === undefined || more.length > 0) return `change ${more.length + 1} files`
  return `${first.kind} \`${formatPath(first.path, redact)}\``
}

/** Where the command runs, and what "always" covers. */
function contextLines(needs: readonly ApprovalNeed[], redact: (text: string) => string): string[] {
  const policy = needs.find(({ source }) => source === 'policy')
  if (policy === undefined) return []
  const { place, shape } = policy
  const sentences = [
    ...(place === '' ? [] : [`Runs in ${formatReason(place, redact)}.`]),
    ...(shape === undefined || !isAlwaysOffered(needs)
      ? []
      : [`"Always" covers \`${formatReason(shape, redact).replaceAll('`', "'")}\`.`]),
  ]
  return sentences.length === 0 ? [] : [sentences.join(' ')]
}

function isAlwaysOffered(needs: readonly ApprovalNeed[]): boolean {
  return needs.every(({ remember }) => remember === 'always')
}

function choicesFor(needs: readonly ApprovalNeed[], sessionId: string): readonly Choice[] {
  const grants = needs.map(ruleOf)
  const once: Choice = {
    answer: 'once',
    label: 'Allow once',
    style: 'primary',
    typed: ['approve'],
    effect: { says: 'Allowed, this once.' },
  }
  const session: Choice = {
    answer: 'session',
    label: 'This session',
    typed: ['approve session'],
    effect: { says: 'Allowed until this session ends.', grants, grantEndsWith: sessionId },
  }
  const isPolicy = needs.some(({ source }) => source === 'policy')
  const always: Choice = {
    answer: 'always',
    label: isPolicy ? 'Always' : 'Always here',
    typed: ['approve always'],
    effect: { says: isPolicy ? 'Allowed from now on.' : 'Allowed in this conversation from now on.', grants },
  }
  const deny: Choice = {
    answer: 'deny',
    label: 'Deny',
    style: 'danger',
    typed: ['deny'],
    effect: { says: 'Refused.' },
  }
  return [
    once,
    ...(needs.every(({ remember }) => remember !== 'call') ? [session] : []),
    ...(isAlwaysOffered(needs) ? [always] : []),
    deny,
  ]
}
