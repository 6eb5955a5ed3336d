/**
 * A variable that is not set costs the chat account that asks for it, and nothing else: the others go on.
 */
import type { PathPart } from '../lib/yaml.ts'
import type { ConfigIssue } from './issue.ts'

/** A key of an account that was left out of the value, because a variable in it is not set. */
export interface UnresolvedVariable {
  /** `platforms`, the platform, perhaps `accounts` and a name, and the key. */
  readonly path: readonly PathPart[]
  /** Which variable, and where it stands: `${NAME} is not set (config.yaml:4:12)`. */
  readonly reason: string
  /** The same as it is found among all problems. */
  readonly issue: ConfigIssue
}

/** The key of an account in which the path lies. Undefined elsewhere, and for an account or a platform as a whole. */
export function accountKeyOf(path: readonly PathPart[]): readonly PathPart[] | undefined {
  if (path[0] !== 'platforms') return undefined
  const depth = path[2] === 'accounts' ? 5 : 3
  return path.length < depth ? undefined : path.slice(0, depth)
}
