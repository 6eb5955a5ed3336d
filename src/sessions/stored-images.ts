/**
 * Reads which pictures the stored conversations contain, also in messages that the model does not read any more.
 */
import type { ImagePart } from '../message/transcript.ts'
import { query, rows, type Transaction } from '../store/query.ts'

const selectImages = query((db) =>
  db.selectFrom('messages').select('images').distinct().where('images', 'is not', null),
)

/** The files of all messages, as `ImagePart.file`. */
export function* findStoredImageFiles(): Transaction<ReadonlySet<string>> {
  return new Set(partsIn(yield* rows(selectImages, {})).map(({ file }) => file))
}

const selectImagesOfConversation = query((db, p: { turn: string }) =>
  db
    .selectFrom('messages')
    .select('images')
    .distinct()
    .where('images', 'is not', null)
    .where('session_id', 'in', (sessions) =>
      sessions
        .selectFrom('sessions')
        .select('sessions.id')
        .where('sessions.session_key', '=', (turns) => turns.selectFrom('turns').select('turns.session_key').where('turns.id', '=', p.turn)),
    ),
)

/** The pictures of the conversation to which the turn belongs, in all of its sessions. */
export function* findImagesOfConversation(turnId: string): Transaction<readonly ImagePart[]> {
  return partsIn(yield* rows(selectImagesOfConversation, { turn: turnId }))
}

/** The column is written by `sessions/transcript.ts`, so its shape is known. */
function partsIn(found: readonly { readonly images: string | null }[]): ImagePart[] {
  return found.flatMap(({ images }): ImagePart[] => (images === null ? [] : JSON.parse(images)))
}
