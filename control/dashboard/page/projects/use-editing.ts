/** State of the project form: local changes, changes saved elsewhere in the meantime, and saving. */
import { useHotkeys } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { projectQuery } from '../api/projects.ts'
import { must, projectsQuery, queryClient } from '../api/queries.ts'
import { notify } from '../ui/notify.ts'
import { changesOf, type Key, type Patch, type Project, rebase, toDraft } from './draft.ts'
import { type DraftForm, useDraftForm } from './form.ts'
import { faultsOf } from './validate.ts'

const sendChanges = (id: string, body: Patch) =>
  must(api.PATCH('/v1/public/projects/{project_id}', { params: { path: { project_id: id } }, body }))

/** `onFault` receives the path of the first invalid field. */
export function useProjectForm(project: Project, onFault: (path: string) => void) {
  const form = useDraftForm({ initialValues: toDraft(project) })
  const { saved, conflicts, take } = useSaved(form, project)
  const changes = useMemo(() => changesOf(form.values, saved), [form.values, saved])
  const dirty = Object.keys(changes).length > 0
  const { error, isPending, save, forget } = useSave(form, saved, changes, take, onFault)
  const discard = () => {
    form.setValues(toDraft(saved))
    form.clearErrors()
    forget()
    take(saved)
  }
  // Works while a field has the focus too, as in any editor.
  useHotkeys([['mod+S', () => void (dirty && save())]], [])
  return { form, saved, dirty, conflicts, error, saving: isPending, save, discard }
}

/** Takes over fields that were saved elsewhere, unless they were changed here. */
function useSaved(form: DraftForm, project: Project) {
  const [saved, setSaved] = useState(project)
  const [conflicts, setConflicts] = useState<Key[]>([])
  const take = (fresh: Project) => {
    const merged = rebase(form.getValues(), saved, fresh)
    form.setValues(merged.draft)
    setSaved(fresh)
    setConflicts(merged.conflicts)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: run only for a new version of the project
  useEffect(() => {
    if (project.updated_at > saved.updated_at) take(project)
  }, [project])
  return { saved, conflicts, take }
}

function useSave(
  form: DraftForm,
  saved: Project,
  changes: Patch,
  take: (fresh: Project) => void,
  onFault: (path: string) => void,
) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const showFaults = (errors: Record<string, string>) => {
    form.setErrors(errors)
    const [first] = Object.keys(errors)
    if (first !== undefined) onFault(first)
  }
  const { mutateAsync, error, isPending, reset } = useMutation({
    mutationFn: (body: Patch) => sendChanges(saved.id, body),
    onSuccess(fresh) {
      take(fresh)
      queryClient.setQueryData(projectQuery(fresh.id).queryKey, fresh)
      if (fresh.name !== saved.name || fresh.language !== saved.language) {
        queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey })
      }
      queryClient.invalidateQueries({ queryKey: ['first steps'] })
      notify(common('saved'))
    },
    onError: error => showFaults(fieldErrors(common, error)),
  })
  const save = async () => {
    const faults = faultsOf(form.getValues())
    if (faults.length > 0) {
      showFaults(Object.fromEntries(faults.map(([path, fault]) => [path, t(`faults.${fault}`)])))
      return false
    }
    form.clearErrors()
    return mutateAsync(changes).then(
      () => true,
      () => false,
    )
  }
  return { error, isPending, save, forget: reset }
}
