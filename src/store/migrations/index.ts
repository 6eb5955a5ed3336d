/**
 * The numbered steps from an empty file to today's tables. Append only: a step that has shipped is never edited.
 * A step's number is its place in the list, counted from 1; the file remembers the last one in `user_version`.
 */
import { initial } from './001-initial.ts'
import { platforms } from './002-platforms.ts'
import { compression } from './003-compression.ts'
import { deferredSearchIndex } from './004-deferred-search-index.ts'
import { dropAgeIndexes } from './005-drop-age-indexes.ts'
import { approvals } from './006-approvals.ts'

export const migrations: readonly string[] = [
  initial,
  platforms,
  compression,
  deferredSearchIndex,
  dropAgeIndexes,
  approvals,
]
