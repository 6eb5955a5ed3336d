/**
 * What commands may do with scheduled jobs. The values of an action are those of the tool `cronjob`.
 */
import type { Authority } from '../message/authority.ts'
import type { SessionSource } from '../message/source.ts'

export interface JobServices {
  /** Resolves with the jobs, in one line each, or with why nothing was done: a sentence. Rejects `store/...`. */
  run(
    action: JobCommand,
    by: { readonly source: SessionSource; readonly authority: Authority },
  ): Promise<{ readonly lines: readonly string[] } | { readonly problem: string }>
  /** Takes known secrets out of a text, as replies do. */
  withhold(text: string): string
}

export interface JobCommand {
  readonly action: 'create' | 'list' | 'show' | 'update' | 'pause' | 'resume' | 'run' | 'stop' | 'remove'
  /** Its id, or its name. */
  readonly job_id?: string
  readonly schedule?: string
  readonly prompt?: string
}
