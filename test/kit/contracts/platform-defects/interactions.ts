/**
 * Defects that break the promises of what people do beside writing.
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
    breaks: ['an edit is a change of the message that was edited, by who wrote it'],
    create: withMisreadUpdate((meant) =>
      meant.kind === 'change' && meant.change.kind === 'edited'
        ? { ...meant, change: { ...meant.change, of: meant.keys[0] } }
        : meant,
    ),
  },
  {
    breaks: ['two edits of one message are two changes, each as it then read'],
    create: withMisreadUpdate((meant, { id }) =>
      meant.kind === 'change' ? { ...meant, keys: [brand<EventKey>(`edit of ${id}`)] } : meant,
    ),
  },
  {
    breaks: ['a message that is taken back is a change of that message'],
    create: withMisreadUpdate((meant) =>
      meant.kind === 'change' && meant.change.kind === 'deleted'
        ? { ...meant, change: { ...meant.change, of: meant.keys[0] } }
        : meant,
    ),
  },
  {
    breaks: ['a reaction tells its emoji, who gave it and to which message'],
    create: withMisreadUpdate((meant, { update }) =>
      meant.kind === 'change' && meant.change.kind === 'reaction'
        ? { ...meant, change: { ...meant.change, messageId: String(update) } }
        : meant,
    ),
  },
  {
    breaks: ['a document arrives with its name, and its bytes can be fetched'],
    create: withMisreadUpdate((meant) =>
      withChangedAttachments(meant, (files) => files.map(({ fileName: _, ...file }) => file)),
    ),
  },
  {
    breaks: ['a picture arrives as a picture, once', 'a document arrives with its name, and its bytes can be fetched'],
    create: withMisreadUpdate((meant) => withChangedAttachments(meant, (files) => [...files, ...files])),
  },
  {
    breaks: ['buttons are shown, and a press tells which one and who pressed it'],
    create: withMisreadUpdate((meant) =>
      meant.kind === 'press' ? { ...meant, press: { ...meant.press, buttonId: 'ask:1:allow' } } : meant,
    ),
  },
  {
    breaks: ['who presses a button too late is told so'],
    create: withChangedContext((context) => ({
      async press(press) {
        await context.press(press)
        return { status: 'taken', text: 'Noted.' }
      },
    })),
  },
  {
    breaks: ['buttons are taken away by an edit without them'],
    create: withDefect(({ edit }) => ({
      edit: (id, message, ...rest) => edit(id, { ...message, buttons: [{ id: 'a', label: 'stays' }] }, ...rest),
    })),
  },
]
