/**
 * The scheduled jobs: when they run next, how they ended last, and forms to make and change them.
 */
import { h } from '../dom.js'
import { clockTime, dayName } from '../time.js'
import { offerUndo } from '../view/undo.js'
import { openDialog, showForm } from './dialogs.js'
import { createList, pageSize } from './list.js'
import { createButton, createSection } from './section.js'

/** @param {import('./views.js').ViewContext} context */
export function createJobs({ api, signal, say }) {
  /** Jobs that are removed unless the person takes it back. @type {Set<string>} */
  const leaving = new Set()
  const list = createList({
    label: 'Scheduled jobs',
    async load(cursor) {
      const query = new URLSearchParams({ limit: String(pageSize), ...(cursor === undefined ? {} : { cursor }) })
      const { jobs, next_cursor } = await api.request(`/api/jobs?${query}`)
      return { entries: jobs.filter((/** @type {any} */ { id }) => !leaving.has(id)), next: next_cursor }
    },
    row: (job) => ({
      key: job.id,
      name: job.name || job.id,
      facts: [
        job.schedule_display,
        job.state === 'running' ? 'runs now' : job.state === 'paused' ? 'paused' : nextOf(job.next_run_at),
        job.last_run_at && `last ${job.last_status || 'run'} ${timeText(job.last_run_at)}`,
        `to ${job.deliver}`,
      ],
      text: [job.last_error, job.last_delivery_error, job.paused_reason ?? ''].filter((line) => line).join('\n'),
      state: stateOf(job),
      stateName: job.state,
      open: () => showResult(job),
      actions: actionsOf(job),
    }),
    empty:
      'Nothing is scheduled. A job asks the agent at set times, such as every morning, and sends the answer to a chat.',
    signal,
    say,
  })
  const add = createButton('Schedule a job', () => edit(undefined), { isMain: true })
  return { section: createSection('Scheduled jobs', list.element, add), refresh: list.refresh }

  /** @param {object} body */
  function change(body) {
    return api.request('/api/jobs', { body })
  }

  /** @param {any} job */
  function actionsOf(job) {
    const { id, state } = job
    const isPaused = state === 'paused'
    const failed = 'The job could not be changed.'
    return [
      ...(state === 'running'
        ? [{ label: 'Stop', act: () => change({ action: 'stop', job_id: id }), problem: failed }]
        : [
            {
              label: 'Run now',
              act: () => change({ action: 'run', job_id: id }),
              problem: failed,
              said: 'The job runs.',
            },
          ]),
      {
        label: isPaused ? 'Resume' : 'Pause',
        act: () => change({ action: isPaused ? 'resume' : 'pause', job_id: id }),
        problem: failed,
      },
      { label: 'Edit', act: () => edit(job), problem: failed },
      { label: 'Delete', isDanger: true, act: () => remove(job), problem: failed },
    ]
  }

  /** @param {any} job */
  async function remove({ id, name }) {
    leaving.add(id)
    const bring = () => {
      leaving.delete(id)
      void list.refresh()
    }
    offerUndo({
      text: `${name || id} is deleted.`,
      isOpen: false,
      undo: bring,
      act: async () => void (await change({ action: 'remove', job_id: id })),
      failed: bring,
    })
  }

  /** @param {any} job undefined for a new one */
  function edit(job) {
    return showForm({
      title: job === undefined ? 'Schedule a job' : `Change ${job.name || job.id}`,
      fields: [
        { name: 'name', label: 'Name', value: job?.name ?? '' },
        {
          name: 'schedule',
          label: 'When',
          value: job?.schedule_display ?? '',
          placeholder: 'every day at 8:00',
          hint: 'Such as: every 2h, every monday at 9:00, tomorrow at 10:00, or 0 8 * * 1-5.',
          isRequired: true,
        },
        { name: 'prompt', label: 'What the agent is asked', type: 'area', value: job?.prompt ?? '', isRequired: true },
        {
          name: 'deliver',
          label: 'Where the answer goes',
          value: job?.deliver ?? '',
          placeholder: 'local',
          hint: 'A chat such as telegram or discord:#ops. local keeps it on this machine.',
        },
      ],
      action: job === undefined ? 'Schedule' : 'Save',
      problem: 'The job could not be stored.',
      async act({ name = '', schedule = '', prompt = '', deliver = '' }) {
        const fields = { name, prompt, ...(deliver.trim() === '' ? {} : { deliver }) }
        const isSame = job !== undefined && schedule === job.schedule_display
        await change(
          job === undefined
            ? { action: 'create', schedule, ...fields }
            : { action: 'update', job_id: job.id, ...(isSame ? {} : { schedule }), ...fields },
        )
        await list.refresh()
        say(job === undefined ? 'The job is scheduled.' : 'The job is changed.')
      },
    })
  }

  /** @param {any} job */
  async function showResult({ id, name, prompt }) {
    const { dialog, form } = openDialog(name || id, () => undefined)
    const result = h('p', { class: 'job-text', role: 'status' }, 'Loading')
    form.append(
      h('p', { class: 'fine' }, 'What the agent is asked'),
      h('p', { class: 'job-text' }, prompt),
      h('p', { class: 'fine' }, 'The last result'),
      result,
      h(
        'div',
        { class: 'actions' },
        createButton('Close', () => dialog.close()),
      ),
    )
    try {
      const { text } = await api.request(`/api/jobs/${encodeURIComponent(id)}/result`)
      result.textContent = text === '' ? 'It has not run yet.' : text
    } catch {
      result.textContent = 'The result could not be loaded.'
    }
  }
}

/** @param {any} job @returns {'good' | 'bad' | 'busy' | 'off'} */
function stateOf({ state, last_status, last_error }) {
  if (state === 'running') return 'busy'
  if (state === 'paused' || state === 'completed') return 'off'
  return state === 'error' || (last_status !== '' && last_status !== 'ok') || last_error ? 'bad' : 'good'
}

/** @param {string | null} at */
function nextOf(at) {
  return at === null ? 'no next time' : `next ${timeText(at)}`
}

/** @param {string} at */
function timeText(at) {
  const time = Date.parse(at)
  return `${dayName(time, Date.now())}, ${clockTime(time)}`
}
