/** Uploads a knowledge file with XMLHttpRequest, because `fetch` does not report upload progress. */
import { ParleyError } from '../api/queries.ts'
import type { Problem, Schemas } from '../api/types.ts'

function readProblem(text: string): Problem | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof (value as Problem | null)?.code === 'string' ? (value as Problem) : null
  } catch {
    return null
  }
}

/** `onProgress` receives the share uploaded, from 0 to 1. */
export function uploadKnowledge(
  projectId: string,
  file: File,
  onProgress: (share: number) => void,
): Promise<Schemas['KnowledgeSource']> {
  const { promise, resolve, reject } = Promise.withResolvers<Schemas['KnowledgeSource']>()
  const request = new XMLHttpRequest()
  request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
  request.onerror = () => reject(new Error('The upload was interrupted'))
  request.onload = () => {
    if (request.status === 201) return resolve(JSON.parse(request.responseText))
    const problem = readProblem(request.responseText)
    reject(problem ? new ParleyError(problem) : new Error(`HTTP ${request.status} without a problem document`))
  }
  const form = new FormData()
  form.append('file', file)
  request.open('POST', `/v1/public/projects/${encodeURIComponent(projectId)}/knowledge/file`)
  request.send(form)
  return promise
}
