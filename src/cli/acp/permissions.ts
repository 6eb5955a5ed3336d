/**
 * Questions of the gateway as permission requests of an editor: the buttons are the options.
 */
import type { PermissionOption, PermissionOptionKind, RequestPermissionRequest } from '@agentclientprotocol/sdk'

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

export function permissionRequest(sessionId: string, question: AskedQuestion): RequestPermissionRequest {
  const [title = '', ...rest] = question.text.split('\n\n')
  const more = question.buttons.some(({ isText }) => isText === true)
    ? [...rest, 'Or write an answer of your own as the next message.']
    : rest
  const text = more.join('\n\n')
  return {
    sessionId,
    toolCall: {
      toolCallId: entryOf(question),
      title: title.replaceAll('`', ''),
      kind: 'execute',
      status: 'pending',
      ...(text === '' ? {} : { content: [{ type: 'content', content: { type: 'text', text } }] }),
    },
    options: optionsOf(question),
  }
}
