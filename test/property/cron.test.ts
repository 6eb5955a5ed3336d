/**
 * Each time of a job leads to one firing, whatever kills the gateway, however late it looks, and wherever clocks are changed.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { nextRun } from '../../src/cron/due.ts'
import { parseJob, timeText } from '../../src/cron/job.ts'
import { findJob, type StoredJob, saveJob } from '../../src/cron/job-store.ts'
import type { Schedule } from '../../src/cron/schedule.ts'
import { query, rows } from '../../src/store/query.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { dailyTimes, type LocalMinute, localMinutes, repeatedTimes } from '../cron/local-times.ts'
import { createWorld, SimulatedGateway, type World } from '../cron/simulated-gateways.ts'
import { writeMigratedDatabase } from '../kit/migrated-database.ts'
import { tempHome } from '../kit/temp-home.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Zones, and hours in UTC at which their clocks are set forward and back. Kolkata's never are. */
const zones: readonly (readonly [string, ...string[]])[] = [
  ['Europe/Berlin', '2027-03-28T01:00Z', '2027-10-31T01:00Z'],
  ['America/New_York', '2027-03-14T07:00Z', '2027-11-07T06:00Z'],
  // Half an hour.
  ['Australia/Lord_Howe', '2027-10-02T15:00Z', '2027-04-03T15:00Z'],
  // At midnight.
  ['America/Santiago', '2027-09-05T04:00Z', '2027-04-04T03:00Z'],
  ['Africa/Cairo', '2027-04-29T22:00Z', '2027-10-28T21:00Z'],
  ['Asia/Kolkata', '2027-03-28T01:00Z'],
]

interface JobPlan {
  readonly kind: 'daily' | 'weekdays' | 'repeated' | 'interval'
  /** Minutes since midnight, or the period. */
  readonly minutes: number
  readonly times: number | null
  readonly isScript: boolean
}

interface Plan {
  readonly zone: readonly [string, ...string[]]
  readonly change: number
  /** Hours before the change at which the jobs are made. */
  readonly lead: number
  readonly jobs: readonly JobPlan[]
  /** After so many steps a gateway is killed; the next one lives as long as the next number says. */
  readonly lives: readonly number[]
  /** How long no gateway runs, ms. */
  readonly downtimes: readonly number[]
  /** How much later than wanted a gateway looks, ms: a machine that sleeps. */
  readonly delays: readonly number[]
  readonly turns: readonly number[]
}

const job = fc.oneof(
  // Around the hours at which clocks are changed.
  fc.record<JobPlan>({
    kind: fc.constantFrom('daily', 'weekdays'),
    minutes: fc.oneof(fc.constantFrom(0, 30, 105, 120, 135, 150, 180), fc.nat({ max: 1_439 })),
    times: fc.constantFrom(null, null, 1, 2),
    isScript: fc.boolean(),
  }),
  fc.record<JobPlan>({
    kind: fc.constantFrom('repeated', 'interval'),
    minutes: fc.constantFrom(15, 30, 60),
    times: fc.constantFrom(null, null, null, 7),
    isScript: fc.boolean(),
  }),
)

const plans = fc.record<Omit<Plan, 'zone'>>({
  change: fc.nat({ max: 1 }),
  lead: fc.integer({ min: 1, max: 26 }),
  jobs: fc.array(job, { minLength: 1, maxLength: 4 }),
  lives: fc.array(fc.integer({ min: 1, max: 120 }), { maxLength: 12 }),
  downtimes: fc.array(fc.constantFrom(0, 0, minute, 20 * minute, 3 * hour, day), { minLength: 1, maxLength: 4 }),
  delays: fc.array(fc.constantFrom(0, 0, minute, 5 * minute, 40 * minute, 5 * hour), { minLength: 1, maxLength: 8 }),
  turns: fc.array(fc.constantFrom(0, 0, minute, 40 * minute), { minLength: 1, maxLength: 4 }),
})

for (const [index, zone] of zones.entries()) {
  const [name] = zone

  test(`in ${name} each time of a job leads to one firing over kills, sleep and changed clocks`, async (t) => {
    await fc.assert(
      fc.asyncProperty(plans, (plan) => simulate(t, { ...plan, zone }, 1)),
      { seed: 16 + index, numRuns: 5 },
    )
  })

  test(`in ${name} two gateways on one database fire each time once`, async (t) => {
    await fc.assert(
      fc.asyncProperty(plans, (plan) => simulate(t, { ...plan, zone, jobs: plan.jobs.map(asTurn) }, 2)),
      { seed: 26 + index, numRuns: 3 },
    )
  })
}

/** A script is kept from a second start by the lock of the home, which only one gateway has. */
function asTurn(one: JobPlan): JobPlan {
  return { ...one, isScript: false }
}

let worlds = 0

async function simulate(t: TestContext, plan: Plan, gateways: number): Promise<void> {
  const [timeZone, ...changes] = plan.zone
  const change = Date.parse(changes[plan.change % changes.length] ?? '')
  const start = change - plan.lead * hour
  const end = change + 26 * hour
  const path = join(tempHome(t), `${worlds++}.db`)
  writeMigratedDatabase(path)
  const world = createWorld(path, { now: start, timeZone, turns: plan.turns })
  const store = createSqliteStore({ path })
  try {
    await addJobs(store, plan, world)
    await runUntil(world, plan, gateways, end)
    const minutes = localMinutes(timeZone, start - day, world.now + 2 * day)
    for (const [index, one] of plan.jobs.entries()) {
      const stored = await store.run(() => findJob(`job${index}`))
      assert.ok(stored)
      await check(
        store,
        world,
        stored,
        timesOf(one, minutes, start).filter((at) => at <= world.now),
        one,
      )
    }
  } finally {
    await store.close()
  }
}

async function addJobs(store: Store, { jobs }: Plan, { now, timeZone }: World): Promise<void> {
  for (const [index, plan] of jobs.entries()) {
    const schedule = scheduleOf(plan)
    const parsed = parseJob({
      ...{ id: `job${index}`, prompt: 'work', schedule, repeat: { times: plan.times, completed: 0 } },
      ...(plan.isScript ? { script: 'x.sh', no_agent: true } : {}),
    })
    const next = nextRun(schedule, now, now, timeZone)
    assert.ok(parsed.ok && next.ok && next.at !== undefined)
    const added: StoredJob = {
      ...{ job: { ...parsed.job, next_run_at: timeText(next.at) }, nextRunAt: next.at, run: null },
      authority: { role: 'owner', platform: 'cli', chatType: 'dm' },
    }
    await store.run(() => saveJob(added))
  }
}

/** Gateways live and die until the time is over; then they live long enough to end what is open. */
async function runUntil(world: World, plan: Plan, count: number, end: number): Promise<void> {
  const lives = [...plan.lives]
  const open = async () => {
    const gateway = new SimulatedGateway(world, lives.shift() ?? Number.POSITIVE_INFINITY)
    await gateway.start()
    return gateway
  }
  const gateways: SimulatedGateway[] = []
  for (let number = 0; number < count; number++) gateways.push(await open())
  let kills = 0
  for (let looks = 0; ; looks++) {
    for (const [index, gateway] of gateways.entries()) {
      await gateway.settle()
      if (gateway.isAlive) continue
      await gateway.close()
      world.now += plan.downtimes[kills++ % plan.downtimes.length] ?? 0
      gateways[index] = await open()
    }
    const next = earliest(gateways)
    if (next === undefined) continue
    if (next.timer.at > end && lives.length === 0) break
    world.now = Math.max(world.now, next.timer.at) + (plan.delays[looks % plan.delays.length] ?? 0)
    next.gateway.fire(next.timer)
  }
  for (const gateway of gateways) gateway.spare()
  await endTurns(world, gateways)
  for (const gateway of gateways) await gateway.close()
}

/** Undefined when one of them is dead. */
function earliest(gateways: readonly SimulatedGateway[]) {
  const timers = gateways.flatMap((gateway) => [...gateway.timers].map((timer) => ({ gateway, timer })))
  return gateways.every(({ isAlive }) => isAlive) ? timers.sort((a, b) => a.timer.at - b.timer.at)[0] : undefined
}

/** What becomes due meanwhile is carried out at once. */
async function endTurns(world: World, gateways: readonly SimulatedGateway[]): Promise<void> {
  world.turns = [0]
  for (let isOpen = true; isOpen; ) {
    isOpen = false
    for (const gateway of gateways) {
      await gateway.settle()
      for (const timer of [...gateway.timers].filter(({ at, isTurn }) => isTurn || at <= world.now)) {
        isOpen = true
        world.now = Math.max(world.now, timer.at)
        gateway.fire(timer)
      }
    }
  }
}

const selectKeys = query((db, p: { from: string; to: string }) =>
  db.selectFrom('inbox_keys').select(['key']).where('key', '>=', p.from).where('key', '<', p.to),
)

async function check(store: Store, world: World, stored: StoredJob, due: readonly number[], plan: JobPlan) {
  const { job: record } = stored
  const prefix = `cron:${record.id}:`
  const firings = [...world.fired.values()].filter(({ job: id }) => id === record.id).sort((a, b) => a.at - b.at)
  const told = [...world.delivered.keys()].filter((key) => key.startsWith(prefix))
  // Each run that was claimed has told its result once.
  assert.equal(record.repeat.completed, told.length, 'a claimed run was lost, or one was carried out twice')
  assert.equal(stored.run, null, 'a run never ended')
  if (plan.isScript) {
    const starts = [...world.scripts].filter(([key]) => key.startsWith(prefix))
    assert.ok(
      starts.every(([, count]) => count === 1),
      'a script was started twice',
    )
    // A run that was killed before its script tells that it was interrupted.
    assert.ok(firings.length <= told.length)
    return
  }
  const keys = await store.run(() => rows(selectKeys, { from: prefix, to: `cron:${record.id};` }))
  assert.equal(keys.length, told.length, 'an event was accepted twice, or not at all')
  assert.equal(firings.length, told.length)
  // A firing stands for the times that have passed since the one before. There is at least one, and its slot is one of them.
  let covered = 0
  for (const { slot, at } of firings) {
    const own = due.filter((time) => time <= at).slice(covered)
    assert.ok(own.includes(slot), `${new Date(slot).toISOString()} is no time of ${JSON.stringify(record.schedule)}`)
    covered += own.length
  }
  if (plan.times === null) assert.equal(covered, due.length, 'a time was lost')
  else assert.equal(firings.length, Math.min(plan.times, firings.length))
  if (plan.times !== null && covered < due.length) assert.equal(firings.length, plan.times, 'a time was lost')
}

function scheduleOf({ kind, minutes }: JobPlan): Schedule {
  const clock = `${minutes % 60} ${Math.floor(minutes / 60)}`
  switch (kind) {
    case 'daily':
      return { kind: 'cron', expr: `${clock} * * *`, display: '' }
    case 'weekdays':
      return { kind: 'cron', expr: `${clock} * * 1-5`, display: '' }
    case 'repeated':
      return { kind: 'cron', expr: minutes === 60 ? '0 * * * *' : `*/${minutes} * * * *`, display: '' }
    case 'interval':
      return { kind: 'interval', minutes, display: '' }
  }
}

/** By the clocks on the wall, after `start`. */
function timesOf({ kind, minutes }: JobPlan, all: readonly LocalMinute[], start: number): readonly number[] {
  const after = (times: readonly number[]) => times.filter((at) => at > start)
  switch (kind) {
    case 'daily':
      return after(dailyTimes(all, minutes, () => true))
    case 'weekdays':
      return after(dailyTimes(all, minutes, (weekday) => weekday >= 1 && weekday <= 5))
    case 'repeated':
      return after(repeatedTimes(all, minutes))
    case 'interval':
      return after(all.map(({ at }) => at)).filter((at) => (at - start) % (minutes * minute) === 0)
  }
}
