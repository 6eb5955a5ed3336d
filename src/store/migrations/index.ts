/**
 * The numbered steps from an empty file to today's tables. Append only: a step that has shipped is never edited.
 * A step's number is its place in the list, counted from 1; the file remembers the last one in `user_version`.
 */
import { route } from './001-route.ts'
import { platforms } from './002-platforms.ts'
import { compression } from './003-compression.ts'
import { searchBehind } from './004-search-behind.ts'
import { ageByNumber } from './005-age-by-number.ts'
import { approvals } from './006-approvals.ts'

export const migrations: readonly string[] = [route, platforms, compression, searchBehind, ageByNumber, approvals]
