/**
 * Defects that break the promises of what people do beside writing.
 */
import { brand } from '../../../../src/lib/brand.ts'
import type { EventKey } from '../../../../src/message/ids.ts'
import { type Defect, flawed, misheard, misled, withFiles } from './flaw.ts'

export const besideDefects: readonly Defect[] = [
  {
    breaks: ['an edit is a change of the message that was edited, by who wrote it'],
    create: misheard((meant) =>
      meant.kind === 'change' && meant.change.kind === 'edited'
        ? { ...meant, change: { ...meant.change, of: meant.keys[0] } }
        : meant,
    ),
  },
  {
    breaks: ['two edits of one message are two changes, each as it then read'],
    create: misheard((meant, { id }) =>
      meant.kind === 'change' ? { ...meant, keys: [brand<EventKey>(`edit of ${id}`)] } : meant,
    ),
  },
  {
    breaks: ['a message that is taken back is a change of that message'],
    create: misheard((meant) =>
      meant.kind === 'change' && meant.change.kind === 'deleted'
        ? { ...meant, change: { ...meant.change, of: meant.keys[0] } }
        : meant,
    ),
  },
  {
    breaks: ['a reaction tells its emoji, who gave it and to which message'],
    create: misheard((meant, { update }) =>
      meant.kind === 'change' && meant.change.kind === 'reaction'
        ? { ...meant, change: { ...meant.change, messageId: String(update) } }
        : meant,
    ),
  },
  {
    breaks: ['a document arrives with its name, and its bytes can be fetched'],
    create: misheard((meant) => withFiles(meant, (files) => files.map(({ fileName: _, ...file }) => file))),
  },
  {
    breaks: ['a picture arrives as a picture, once', 'a document arrives with its name, and its bytes can be fetched'],
    create: misheard((meant) => withFiles(meant, (files) => [...files, ...files])),
  },
  {
    breaks: ['buttons are shown, and a press tells which one and who pressed it'],
    create: misheard((meant) =>
      meant.kind === 'press' ? { ...meant, press: { ...meant.press, buttonId: 'ask:1:allow' } } : meant,
    ),
  },
  {
    breaks: ['who presses a button too late is told so'],
    create: misled((context) => ({
      async press(press) {
        await context.press(press)
        return { status: 'taken', text: 'Noted.' }
      },
    })),
  },
  {
    breaks: ['buttons are taken away by an edit without them'],
    create: flawed(({ edit }) => ({
      edit: (id, message, ...rest) => edit(id, { ...message, buttons: [{ id: 'a', label: 'stays' }] }, ...rest),
    })),
  },
]
