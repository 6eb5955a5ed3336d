/**
 * The question about a tool call: its text, its choices, who is asked, and what an answer covers. The call is shown without secrets,
 * short, and without characters that could disguise it.
 */
import { createHash } from 'node:crypto'
import type { ToolApprovalRequest } from '../agent/loop/tool-approval.ts'
import type { ApprovalNeed } from '../agent/tools/tool.ts'
import type { JsonObject } from '../lib/json.ts'
import { toOneLine } from '../lib/visible-text.ts'
import type { Role } from '../message/authority.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { ApprovalsConfig } from './config.ts'
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

/** Removes the secrets from a text. What only looks like a secret stays if `keeps` returns true for it. */
export type Redact = (text: string, keeps?: (secret: string) => boolean) => string

/** A shell could run a part of it, so that hiding it could hide a command. */
const isShellSyntax = (text: string) => /[\s$`;|&<>(){}'"\\]/.test(text)

const maxValueChars = 400
const maxArguments = 12
const maxCommandChars = 4_000

/** One line for each argument; a single one-line text is shown without its name. */
export function formatToolCall(args: JsonObject, redact: Redact): string {
  const entries = Object.entries(args)
  const [first] = entries
  if (entries.length === 1 && first !== undefined && typeof first[1] === 'string' && !first[1].includes('\n'))
    return escapeInvisible(redactAndTruncate(first[1], redact))
  const lines = entries
    .slice(0, maxArguments)
    .map(
      ([name, value]) =>
        `${escapeInvisible(redactAndTruncate(name, redact))}: ${escapeInvisible(redactAndTruncate(formatValue(value), redact))}`,
    )
  const more = entries.length - lines.length
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n')
}

const maxWholeChars = 1_400

/**
 * A command as it will run: complete, or with its hash, its length, its beginning and its end. Line breaks stay; runs of
 * spaces and of empty lines, which could move a part out of sight, are counted.
 */
export function formatWholeCommand(command: string, redact: Redact): string {
  const shown = redact(command, isShellSyntax)
  if (shown.length <= maxWholeChars) return showLayout(shown)
  const hash = createHash('sha256').update(command).digest('hex')
  const head = showLayout(shown.slice(0, (maxWholeChars / 3) * 2).toWellFormed())
  const tail = showLayout(shown.slice(-maxWholeChars / 3).toWellFormed())
  return `${head}\n… (${command.length} characters in all, sha256 ${hash}) …\n${tail}`
}

/** The change of a file as a block whose info string is its path. */
function formatChange(change: { readonly path: string; readonly diff: string }, redact: Redact): string {
  const lines = redact(change.diff)
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/\r$/, '').split('\t').map(escapeInvisible).join('\t'))
  return `\`\`\`diff ${formatPath(change.path, redact)}\n${lines.join('\n')}\n\`\`\``
}

function formatPath(path: string, redact: Redact): string {
  return escapeInvisible(redact(path)).replaceAll('`', "'")
}

function showLayout(text: string): string {
  return text
    .split('\n')
    .map((line) => escapeInvisible(line).replace(/(?<=\S) {8,}(?=\S)/g, (run) => ` …(${run.length} spaces)… `))
    .join('\n')
    .replace(/(?:\n[ ]*){4,}(?=\n)/g, (run) => `\n…(${run.split('\n').length - 1} empty lines)…`)
}

/** For plugins: the shell command, or the tool with its arguments. */
export function formatCommand(toolName: string, args: JsonObject, redact: Redact): string {
  const { command } = args
  const whole = typeof command === 'string' ? command : `${toolName} ${JSON.stringify(args)}`
  return truncateMiddle(redact(whole), maxCommandChars)
}

/** The reason that a plugin gives, on one line. */
export function formatReason(message: string, redact: Redact): string {
  return escapeInvisible(truncateMiddle(toOneLine(redact(message)), maxValueChars))
}

/** A line break inside a value could make one argument look like two. */
function formatValue(value: unknown): string {
  return typeof value === 'string' && !value.includes('\n') ? value : (JSON.stringify(value) ?? '')
}

/** Redacts before truncating, so that no part of a secret remains. */
function redactAndTruncate(text: string, redact: Redact): string {
  return truncateMiddle(redact(text), maxValueChars)
}

/** Keeps both ends, because the end of a command often matters most. */
function truncateMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text.toWellFormed()
  const tail = Math.floor(maxChars / 3)
  const head = maxChars - tail
  const left = text.length - maxChars
  return `${text.slice(0, head)} …(${left} characters left out)… ${text.slice(-tail)}`.toWellFormed()
}

/** Escapes invisible characters, bidirectional controls and the end of a code block. */
function escapeInvisible(text: string): string {
  return text
    .replace(
      /(?! )[\p{Cc}\p{Cf}\p{Co}\p{Zs}\p{Zl}\p{Zp}\p{DI}\u2800]/gu,
      (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
    )
    .replace(/`{3,}/g, "'''")
}
