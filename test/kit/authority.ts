/**
 * The authority of the owner at the command line, for tests in which roles do not matter.
 */
import type { Authority } from '../../src/message/authority.ts'

export const ownerAuthority: Authority = { role: 'owner', platform: 'cli', chatType: 'dm' }
