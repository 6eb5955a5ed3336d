/**
 * An invalid value or a variable that is not set disables only the chat account that uses it.
 */
import type { PathPart } from '../lib/yaml.ts'
import type { ConfigIssue } from './issue.ts'

/** A key of an account that was omitted because its value is invalid or refers to a variable that is not set. */
export interface UnusableSetting {
  /** `platforms`, the platform, perhaps `accounts` and a name, and the key. */
  readonly path: readonly PathPart[]
  /** With the position: `${NAME} is not set (config.yaml:4:12)`. */
  readonly reason: string
  /** The same issue as in the list of all issues. */
  readonly issue: ConfigIssue
}

/** The key of an account that contains the path. `undefined` elsewhere, and for a whole account or platform. */
export function accountKeyOf(path: readonly PathPart[]): readonly PathPart[] | undefined {
  if (path[0] !== 'platforms') return undefined
  const depth = path[2] === 'accounts' ? 5 : 3
  return path.length < depth ? undefined : path.slice(0, depth)
}
