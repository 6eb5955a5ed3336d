/**
 * The numbered migrations from an empty database to the current schema. Append only: a migration that was released is never
 * edited. The number of a migration is its position in the list, counted from 1; `user_version` of the database file holds
 * the number of the last one applied.
 */
import { initial } from './001-initial.ts'
import { platforms } from './002-platforms.ts'
import { compression } from './003-compression.ts'
import { deferredSearchIndex } from './004-deferred-search-index.ts'
import { dropAgeIndexes } from './005-drop-age-indexes.ts'
import { approvals } from './006-approvals.ts'
import { deadLetters } from './007-dead-letters.ts'
import { attempts } from './008-attempts.ts'
import { albums } from './009-albums.ts'
import { sessionSettings } from './010-session-settings.ts'
import { busyModes } from './011-busy-modes.ts'
import { delivery } from './012-delivery.ts'
import { sessionTools } from './015-session-tools.ts'
import { usage } from './016-usage.ts'
import { messageImages } from './017-message-images.ts'
import { cronJobs } from './018-cron-jobs.ts'
import { deferredDeliveries } from './020-deferred-deliveries.ts'
import { platformRecords } from './021-platform-records.ts'
import { pinnedSessions } from './022-pinned-sessions.ts'
import type { newestVersion } from './newest-version.ts'

const all = [
  initial,
  platforms,
  compression,
  deferredSearchIndex,
  dropAgeIndexes,
  approvals,
  deadLetters,
  attempts,
  albums,
  sessionSettings,
  busyModes,
  delivery,
  sessionTools,
  messageImages,
  usage,
  cronJobs,
  platformRecords,
  deferredDeliveries,
  pinnedSessions,
] as const satisfies readonly string[] & { readonly length: typeof newestVersion }

export const migrations: readonly string[] = all
