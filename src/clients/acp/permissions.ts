/**
 * Questions of the gateway as permission requests of an editor: the buttons are the options.
 */
import { resolve } from 'node:path'
import type { PermissionOption, PermissionOptionKind, RequestPermissionRequest } from '@agentclientprotocol/sdk'

import { diffContent, textContent } from './tool-content.ts'

export interface AskedQuestion {
  readonly id: string
  readonly text: string
  readonly buttons: readonly { readonly id: string; readonly label: string; readonly isText?: boolean | undefined }[]
}

/** Buttons of the forms `appr:<id>:<answer>`, `sc:<answer>:<id>` and `cl:<id>:<index>`. */
function kindOfButton(id: string): PermissionOptionKind {
  if (/^(?:appr:.*:deny|sc:(?:deny|cancel):.*)$/.test(id)) return 'reject_once'
  return /^(?:appr:.*:(?:always|session)|sc:(?:always|session):.*)$/.test(id) ? 'allow_always' : 'allow_once'
}

/** An answer in words needs no option: the person writes it as the next prompt. */
export function optionsOf({ buttons }: Pick<AskedQuestion, 'buttons'>): PermissionOption[] {
  return buttons
    .filter(({ isText }) => isText !== true)
    .map(({ id, label }) => ({ optionId: id, name: label, kind: kindOfButton(id) }))
}

/** The id of the entry that shows the question. */
export function entryOf({ id }: Pick<AskedQuestion, 'id'>): string {
  return `question-${id}`
}

/** Relative paths are below `cwd`. */
export function permissionRequest(sessionId: string, question: AskedQuestion, cwd: string): RequestPermissionRequest {
  const { words, diffs } = withoutDiffs(question.text)
  const [title = '', ...rest] = words.split('\n\n')
  const more = question.buttons.some(({ isText }) => isText === true)
    ? [...rest, 'Or write an answer of your own as the next message.']
    : rest
  const text = more.join('\n\n')
  const content = [...diffs.flatMap((diff) => diffContent(diff, cwd)), ...(text === '' ? [] : [textContent(text)])]
  return {
    sessionId,
    toolCall: {
      toolCallId: entryOf(question),
      title: title.replaceAll('`', ''),
      kind: diffs.length === 0 ? 'execute' : 'edit',
      status: 'pending',
      ...(diffs.length === 0 ? {} : { locations: diffs.map(({ path }) => ({ path: resolve(cwd, path) })) }),
      ...(content.length === 0 ? {} : { content }),
    },
    options: optionsOf(question),
  }
}

interface FileDiff {
  readonly path: string
  /** Hunks. */
  readonly text: string
}

/** The changes of files in a question (src/approvals/tool-question.ts). No line of a diff can end its block. */
function withoutDiffs(question: string): { readonly words: string; readonly diffs: readonly FileDiff[] } {
  const diffs: FileDiff[] = []
  const words = question.replace(/^```diff (.+)\n([\s\S]*?)\n```(?:\n\n)?/gm, (_, path: string, text: string) => {
    diffs.push({ path, text })
    return ''
  })
  return { words: words.trimEnd(), diffs }
}
