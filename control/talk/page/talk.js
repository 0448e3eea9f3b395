/** The page: the session form, the call buttons and the transcript. */
import { join, openMicrophone, TalkError } from '/talk/room.js'
import { language, problemText, words } from '/talk/words.js'

const at = id => document.getElementById(id)
const [form, key, project, problem] = ['session', 'key', 'project', 'problem'].map(at)
const [talk, mute, hangUp, unblock] = ['talk', 'mute', 'hangup', 'unblock'].map(at)
const [say, text] = ['say', 'text'].map(at)
const [lamp, state, transcript, empty] = ['lamp', 'state', 'transcript', 'empty'].map(at)

document.documentElement.lang = language
for (const element of document.querySelectorAll('[data-text]')) element.textContent = words[element.dataset.text]
document.title = words.title

/** URL and token from the fragment, which browsers never send. Without them the page creates the session itself. */
const given = new URLSearchParams(location.hash.slice(1))
const ticket = given.get('url') && given.get('token') ? { url: given.get('url'), token: given.get('token') } : null
// Keep the token out of the history and off shared screens.
if (location.hash) history.replaceState(null, '', location.pathname)

let dialogue = null

function show(name) {
  state.textContent = words[name] ?? ''
  lamp.dataset.state = name
}

function showProblem(error) {
  problem.hidden = error === null
  problem.textContent = error ? problemText(error.code ?? 'unknown', error.detail) : ''
}

/** Shows the buttons of a phase: `idle`, `busy` or `live`. */
function showButtons(phase) {
  const live = phase === 'live'
  talk.hidden = live
  form.hidden = ticket !== null || live
  mute.hidden = hangUp.hidden = say.hidden = !live
  if (!live) unblock.hidden = true
  talk.disabled = phase !== 'idle' || !(ticket || project.value)
  key.disabled = phase !== 'idle'
  project.disabled = phase !== 'idle' || project.options.length === 0
}

// ---- the session ----

async function ask(path, options = {}) {
  const headers = { Authorization: `Bearer ${key.value.trim()}`, 'Content-Type': 'application/json' }
  let response
  try {
    response = await fetch(`/v1/public${path}`, { headers, ...options })
  } catch {
    throw new TalkError('network')
  }
  const body = await response.json().catch(() => ({}))
  if (!response.ok) throw new TalkError(body.code ?? String(response.status), body.detail)
  return body
}

const openSession = () =>
  ask('/realtime/session', { method: 'POST', body: JSON.stringify({ project_id: project.value }) })

async function loadProjects() {
  project.replaceChildren()
  showProblem(null)
  const asked = key.value
  if (asked.trim() !== '') {
    try {
      const { projects } = await ask('/projects')
      if (asked !== key.value) return // another key was entered in the meantime
      project.replaceChildren(...projects.map(({ id, name }) => new Option(name, id)))
      if (projects.length === 0) showProblem(new TalkError('none', words.noProjects))
    } catch (error) {
      showProblem(error)
    }
  }
  showButtons('idle')
  show(project.value ? 'ready' : 'askKey')
}

// ---- the call ----

async function start() {
  showProblem(null)
  showButtons('busy')
  clearTranscript()
  try {
    show('microphone')
    const microphone = await openMicrophone()
    show('connecting')
    const { url, token } =
      ticket ??
      (await openSession().catch(error => {
        microphone.stop()
        throw error
      }))
    dialogue = await join({ url, token, microphone, on: { state: show, said, blocked, ended } })
    if (!dialogue) return // the call has ended and reported it
    showMuted(false)
    showButtons('live')
    hangUp.focus()
  } catch (error) {
    ended(error)
  }
}

function ended(error) {
  dialogue = null
  showProblem(error)
  show('ended')
  talk.textContent = words.again
  showButtons('idle')
  talk.focus()
}

function blocked(isBlocked) {
  unblock.hidden = !isBlocked
}

function showMuted(isMuted) {
  mute.setAttribute('aria-pressed', String(isMuted))
}

// ---- the transcript ----

const segments = new Map()

function said({ id, role, text, final }) {
  let entry = segments.get(id)
  if (text.trim() === '') {
    if (final) forget(id) // the segment turned out to be empty
    return
  }
  if (!entry) {
    entry = makeEntry(role)
    segments.set(id, entry)
    transcript.append(entry.item)
    empty.hidden = true
  }
  // A late stream must not overwrite final text.
  if (entry.item.dataset.final === 'true' && !final) return
  entry.words.textContent = text
  entry.item.dataset.final = String(final)
  entry.item.classList.toggle('interim', !final && role === 'caller')
  // Screen readers announce the text once it is final.
  entry.item.setAttribute('aria-busy', String(!final))
  entry.item.scrollIntoView({ block: 'nearest' })
}

function forget(id) {
  segments.get(id)?.item.remove()
  segments.delete(id)
  empty.hidden = segments.size > 0
}

function makeEntry(role) {
  const item = document.createElement('p')
  item.className = role
  const who = document.createElement('span')
  who.className = 'who'
  who.textContent = role === 'caller' ? words.you : words.agent
  const said = document.createElement('span')
  item.append(who, said)
  return { item, words: said }
}

function clearTranscript() {
  segments.clear()
  transcript.replaceChildren()
  empty.hidden = false
}

// ---- the buttons ----

talk.addEventListener('click', () => void start())
hangUp.addEventListener('click', () => void dialogue?.hangUp())
unblock.addEventListener('click', () => void dialogue?.unblock())
mute.addEventListener('click', async () => {
  if (dialogue) showMuted(await dialogue.toggleMute())
})
say.addEventListener('submit', event => {
  event.preventDefault()
  if (text.value.trim() !== '') void dialogue?.type(text.value.trim())
  text.value = ''
})
key.addEventListener('change', () => void loadProjects())
project.addEventListener('change', () => showButtons('idle'))
form.addEventListener('submit', event => event.preventDefault())

showButtons('idle')
show(ticket ? 'ready' : 'askKey')
