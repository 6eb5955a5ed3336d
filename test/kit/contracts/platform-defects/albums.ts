/**
 * Defects that break the promises about files that are sent together.
 */
import type { AlbumResult, OutboundAlbum } from '../../../../src/message/outbound.ts'
import type { AlbumSupport } from '../../../../src/platforms/adapter.ts'
import { type Defect, withDefect } from './create-defect.ts'

/** An adapter with a wrong album support. */
function withWrongAlbums(change: (correct: AlbumSupport) => Partial<AlbumSupport>) {
  return withDefect(({ albums }) => {
    if (albums === undefined) throw new Error('the fake adapter has no albums')
    return { albums: { ...albums, ...change(albums) } }
  })
}

function withWrongSend(
  send: (album: OutboundAlbum, correct: AlbumSupport, signal: AbortSignal) => Promise<AlbumResult>,
) {
  return withWrongAlbums((correct) => ({ send: (album, signal) => send(album, correct, signal) }))
}

const together = 'the files of an album are shown together, complete and in order, with a caption'
const grouped = 'two documents are one album, and a group depends on the file only'
const rejected = 'an album with a file that cannot be read is `rejected`, and no file of it is shown'
const rateLimited = 'a rate limit of an album is reported with its wait time, and the adapter does not retry'
const lostResponse =
  'a lost response to an album sets `maybeSent`, the adapter does not send again, and a lookup never denies it'
const lookup = 'a lookup tells a sent album from an unsent one'

export const albumDefects: readonly Defect[] = [
  {
    breaks: [grouped],
    create: withWrongAlbums(() => {
      let calls = 0
      return {
        groupOf() {
          calls += 1
          return `group ${calls}`
        },
      }
    }),
  },
  {
    breaks: [grouped, together],
    create: withWrongAlbums(() => ({ maxFiles: 1 })),
  },
  {
    breaks: [together],
    create: withWrongSend(({ files, ...album }, correct, signal) =>
      correct.send({ ...album, files: files.toReversed() }, signal),
    ),
  },
  {
    breaks: [together],
    create: withWrongSend(({ files, ...album }, correct, signal) =>
      correct.send({ ...album, files: files.map(({ attachment }) => ({ caption: '', attachment })) }, signal),
    ),
  },
  {
    breaks: [together],
    create: withWrongSend(async (album, correct, signal) => {
      const result = await correct.send(album, signal)
      return result.success ? { ...result, messageIds: result.messageIds?.slice(1) ?? [] } : result
    }),
  },
  {
    // Leaves out the file that cannot be read.
    breaks: [rejected],
    create: withWrongSend(async ({ files, ...album }, correct, signal) => {
      const readable: OutboundAlbum['files'][number][] = []
      for (const file of files) if (await canOpen(file)) readable.push(file)
      return correct.send({ ...album, files: readable }, signal)
    }),
  },
  {
    breaks: [rejected, rateLimited],
    create: withWrongSend(async (album, correct, signal) => {
      const result = await correct.send(album, signal)
      return result.success ? result : { ...result, problem: 'temporary' }
    }),
  },
  {
    breaks: [rateLimited, lostResponse],
    create: withWrongSend(async (album, correct, signal) => {
      const result = await correct.send(album, signal)
      return result.success ? result : await correct.send(album, signal)
    }),
  },
  {
    breaks: [lostResponse],
    create: withWrongSend(async (album, correct, signal) => {
      const result = await correct.send(album, signal)
      return result.success ? result : { ...result, maybeSent: false }
    }),
  },
  {
    // Looks for each file under a key of its own.
    breaks: [lostResponse, lookup],
    create: withWrongAlbums(() => ({ resolveUnknown: async () => ({ sent: false }) })),
  },
  {
    breaks: [lookup],
    create: withWrongAlbums(() => ({ resolveUnknown: async () => ({ sent: true }) })),
  },
  {
    breaks: ['an album that is aborted or sent after disconnect resolves with a result'],
    create: withWrongSend(async (album, correct, signal) => {
      signal.throwIfAborted()
      return await correct.send(album, signal)
    }),
  },
]

async function canOpen({ attachment: { source } }: OutboundAlbum['files'][number]): Promise<boolean> {
  if (source.kind === 'url') return true
  return await source.open().then(
    () => true,
    () => false,
  )
}
