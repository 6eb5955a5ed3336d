/**
 * An album comes as several messages that share a `media_group_id`: here they become one again.
 */
import { type Fields, fieldsOf, idOf, isFields, textOf } from '../fields.ts'

/** Whether the last update is a part of an album, so that further parts may be on their way. */
export function endsInAlbum(updates: readonly unknown[]): boolean {
  return albumOf(fieldsOf(updates.at(-1))) !== undefined
}

/** The updates in order; those of one album stand together, at the place of its first part. */
export function groupAlbums(updates: readonly unknown[]): readonly (readonly Fields[])[] {
  const groups = new Map<unknown, Fields[]>()
  for (const update of updates.filter(isFields)) {
    const name = albumOf(update) ?? update
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [update])
    else group.push(update)
  }
  return [...groups.values()]
}

/** With chat and author: what somebody else wrote must never be taken for a part of it. */
function albumOf(update: Fields): string | undefined {
  const message = fieldsOf(update['message'] ?? update['channel_post'])
  const group = textOf(message['media_group_id'])
  if (group === undefined) return undefined
  return [message['chat'], message['from']].map((one) => idOf(fieldsOf(one)['id']) ?? '').join(':') + group
}
