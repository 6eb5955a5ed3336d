/**
 * Defects that break the promises about edits, deletions, reactions, attachments and buttons.
 */
import { brand } from '../../../../src/lib/ids.ts'
import type { EventKey } from '../../../../src/message/ids.ts'
import {
  type Defect,
  withChangedAttachments,
  withChangedContext,
  withDefect,
  withMisreadUpdate,
} from './create-defect.ts'

export const interactionDefects: readonly Defect[] = [
  {
    breaks: ['an edit is a change of the edited message by its author'],
    create: withMisreadUpdate((parsed) =>
      parsed.kind === 'change' && parsed.change.kind === 'edited'
        ? { ...parsed, change: { ...parsed.change, of: parsed.keys[0] } }
        : parsed,
    ),
  },
  {
    breaks: ['two edits of a message are two changes with their own texts'],
    create: withMisreadUpdate((parsed, { id }) =>
      parsed.kind === 'change' ? { ...parsed, keys: [brand<EventKey>(`edit of ${id}`)] } : parsed,
    ),
  },
  {
    breaks: ['a deleted message is a change of that message'],
    create: withMisreadUpdate((parsed) =>
      parsed.kind === 'change' && parsed.change.kind === 'deleted'
        ? { ...parsed, change: { ...parsed.change, of: parsed.keys[0] } }
        : parsed,
    ),
  },
  {
    breaks: ['a reaction has its emoji, its user and its message'],
    create: withMisreadUpdate((parsed, { update }) =>
      parsed.kind === 'change' && parsed.change.kind === 'reaction'
        ? { ...parsed, change: { ...parsed.change, messageId: String(update) } }
        : parsed,
    ),
  },
  {
    breaks: ['a document arrives with its name, and its bytes can be downloaded'],
    create: withMisreadUpdate((parsed) =>
      withChangedAttachments(parsed, (files) => files.map(({ fileName: _, ...file }) => file)),
    ),
  },
  {
    breaks: [
      'a photo arrives as one attachment of kind `photo`',
      'a document arrives with its name, and its bytes can be downloaded',
    ],
    create: withMisreadUpdate((parsed) => withChangedAttachments(parsed, (files) => [...files, ...files])),
  },
  {
    breaks: ['buttons are shown, and a press has its button and its user'],
    create: withMisreadUpdate((parsed) =>
      parsed.kind === 'press' ? { ...parsed, press: { ...parsed.press, buttonId: 'ask:1:allow' } } : parsed,
    ),
  },
  {
    breaks: ['a user who presses a stale button is notified'],
    create: withChangedContext((context) => ({
      questions: {
        ...context.questions,
        async press(press) {
          await context.questions.press(press)
          return { status: 'taken', text: 'Noted.' }
        },
      },
    })),
  },
  {
    breaks: ['an edit without buttons removes them'],
    create: withDefect(({ edit }) => ({
      edit: (id, message, ...rest) => edit(id, { ...message, buttons: [{ id: 'a', label: 'stays' }] }, ...rest),
    })),
  },
]
