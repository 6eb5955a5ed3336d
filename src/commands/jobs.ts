/**
 * What commands may do with scheduled jobs. The values of an action are those of the tool `cronjob`.
 */
import type { CommandContext } from './command.ts'

export interface JobServices {
  /** Resolves with the jobs, in one line each, or with why nothing was done: a sentence. Rejects `store/...`. */
  run(
    action: JobCommand,
    context: Pick<CommandContext, 'source' | 'authority'>,
  ): Promise<{ readonly lines: readonly string[] } | { readonly problem: string }>
}

export interface JobCommand {
  readonly action: 'create' | 'list' | 'pause' | 'resume' | 'run' | 'remove'
  /** Its id, or its name. */
  readonly job_id?: string
  readonly schedule?: string
  readonly prompt?: string
}
