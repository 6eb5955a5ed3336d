/**
 * What can be done with jobs, and whose request it is.
 */
import type { Authority } from '../message/authority.ts'
import type { Target } from '../message/source.ts'
import type { Transaction } from '../store/query.ts'
import type { Runtime } from '../store/runtime.ts'
import type { Job } from './job.ts'
import type { ScheduleContext } from './schedule.ts'

/** The clock, the table and the settings that the jobs, their file, the scheduler and the runs share. */
export interface CronRuntime extends Pick<Runtime, 'store' | 'clock' | 'log'> {
  readonly settings: () => Omit<ScheduleContext, 'now'>
  /** The table has changed: the scheduler looks at it, and the file follows. */
  changed(): void
}

/** What a person or the agent may set. An absent field stays as it is. */
export interface JobRequest {
  readonly name?: string | undefined
  readonly prompt?: string | undefined
  readonly schedule?: string | undefined
  readonly skills?: readonly string[] | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly script?: string | undefined
  readonly no_agent?: boolean | undefined
  readonly context_from?: readonly string[] | undefined
  /** How often it runs; null or a number below 1: for ever. */
  readonly repeat?: number | null | undefined
  readonly deliver?: string | undefined
  readonly enabled_toolsets?: readonly string[] | undefined
  readonly workdir?: string | undefined
}

/** The person who makes or changes a job, and the chat in which that happens; null for none. */
export interface JobMaker {
  readonly authority: Authority
  readonly origin: (Target & { readonly chatName?: string | undefined }) | null
  /** The id of a job that is made: a second request with it finds the first one's job. Default: a random one. */
  readonly newId?: string
}

/** Something that happened outside, and lets a job run. */
export interface JobEvent {
  /** What the agent is told. It is data. */
  readonly text: string
  /** In the transaction that lets the job run. */
  stored(): Transaction<void>
}

export type JobResult = { readonly ok: true; readonly job: Job } | { readonly ok: false; readonly problem: string }

export interface Jobs {
  /** All rejections are `store/...`. */
  create(request: JobRequest, maker: JobMaker): Promise<JobResult>
  /** `name`: an id, or a name that only one job has. */
  update(name: string, request: JobRequest, maker: JobMaker): Promise<JobResult>
  pause(name: string, reason: string, maker: JobMaker): Promise<JobResult>
  resume(name: string, maker: JobMaker): Promise<JobResult>
  /**
   * Makes it due now, also while it is paused. An interval counts from then. Events that come while it runs lead to one run
   * after that.
   */
  run(name: string, maker: JobMaker, event?: JobEvent): Promise<JobResult>
  /** Ends the run that goes on now. */
  stop(name: string, maker: JobMaker): Promise<JobResult>
  /** A run that has begun goes on, and is not delivered. */
  remove(name: string, maker: JobMaker): Promise<JobResult>
  find(name: string, maker: JobMaker): Promise<JobResult>
  /** In the order of their next times; those without one last. */
  list(maker: JobMaker): Promise<readonly Job[]>
}
